// pgx's SendBatch: INSERTs of one row, a batch of them in one round trip, all batches in one transaction.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
)

func sendBatch(ctx context.Context, connection *pgx.Conn, t task) (int64, error) {
	places := make([]string, len(t.columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)",
		t.table, strings.Join(t.names(), ", "), strings.Join(places, ", "))
	if err := begin(); err != nil {
		return 0, err
	}
	reader, file, err := t.open()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	transaction, err := connection.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer transaction.Rollback(ctx) // does nothing after the commit
	rows := int64(0)
	for end := false; !end; {
		batch := &pgx.Batch{}
		for !end && batch.Len() < t.batch {
			record, err := reader.Read()
			if errors.Is(err, io.EOF) {
				end = true
				break
			}
			if err != nil {
				return 0, err
			}
			values, err := t.values(record)
			if err != nil {
				return 0, err
			}
			batch.Queue(insert, values...)
		}
		if err := transaction.SendBatch(ctx, batch).Close(); err != nil {
			return 0, err
		}
		rows += int64(batch.Len()) // Close answers without an error only when every INSERT did
	}
	return rows, transaction.Commit(ctx)
}
