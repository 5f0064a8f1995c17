// pgx's CopyFrom: typed values, written as binary COPY.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
)

// CopyFrom is one statement, so it is one transaction.
func copyFrom(ctx context.Context, connection *pgx.Conn, t task) (int64, error) {
	if err := begin(); err != nil {
		return 0, err
	}
	reader, file, err := t.open()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	next := func() ([]any, error) {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil, nil // the end
		}
		if err != nil {
			return nil, err
		}
		return t.values(record)
	}
	return connection.CopyFrom(ctx, pgx.Identifier{t.table}, t.names(), pgx.CopyFromFunc(next))
}
