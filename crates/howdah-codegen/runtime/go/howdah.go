// This file runs the statements of generated code. Rows come in their binary form.

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DBTX is what statements run on: a *pgx.Conn, a pgx.Tx or a *pgxpool.Pool.
type DBTX interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	Query(context.Context, string, ...any) (pgx.Rows, error)
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}

// ValueError is a value that Go or PostgreSQL cannot hold as it is. It is refused and never changed.
type ValueError struct {
	// Row is the number of the row in an append, from 1, and otherwise 0.
	Row int64
	// Name is the column or the parameter.
	Name string
	Err  error
}

func (e *ValueError) Error() string {
	if e.Row > 0 {
		return fmt.Sprintf("row %d, column %s: %v", e.Row, e.Name, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Name, e.Err)
}

func (e *ValueError) Unwrap() error {
	return e.Err
}

// Rows gives the rows of a slice to an append.
func Rows[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// rowType is how the rows of a statement are read.
type rowType[T any] struct {
	formats []int16
	read    func(*reader) T
}

func newRowType[T any](read func(*reader) T, columns ...*pgType) *rowType[T] {
	formats := make([]int16, len(columns))
	for i, column := range columns {
		formats[i] = column.format()
	}
	return &rowType[T]{formats, read}
}

// of reads a row of a result.
func (t *rowType[T]) of(fields []pgconn.FieldDescription, values [][]byte) (T, error) {
	var zero T
	if len(values) != len(t.formats) {
		return zero, fmt.Errorf("the result has %d columns and not %d: generate the code again", len(values), len(t.formats))
	}
	for i, field := range fields {
		if field.Format != t.formats[i] {
			return zero, errors.New("QueryExecModeExec and QueryExecModeSimpleProtocol give no binary results, which generated code reads")
		}
	}
	r := reader{values: values}
	row := t.read(&r)
	if r.err != nil {
		return zero, &ValueError{Name: "column " + fields[r.next-1].Name, Err: r.err}
	}
	return row, nil
}

// reader takes the fields of a row or of a composite value one after the other, until one is refused.
type reader struct {
	values [][]byte
	next   int
	err    error
}

func get[T any](r *reader, c *codec[T]) T {
	value, there := take(r, c)
	if r.err == nil && !there {
		r.err = errors.New("it is null, and said not to be")
	}
	return value
}

func getNull[T any](r *reader, c *codec[T]) *T {
	value, there := take(r, c)
	if !there {
		return nil
	}
	// Only what is returned by its address costs an allocation.
	kept := value
	return &kept
}

// take gives the value of the next field, unless it is null or refused.
func take[T any](r *reader, c *codec[T]) (value T, there bool) {
	if r.err != nil {
		return value, false
	}
	if r.next >= len(r.values) {
		r.err = errors.New("it is missing")
		return value, false
	}
	source := r.values[r.next]
	r.next++
	if source == nil {
		return value, false
	}
	if value, r.err = c.decode(source); r.err != nil {
		var zero T
		return zero, false
	}
	return value, true
}

// execute runs a statement, and gives the number of rows that it changed.
func execute(ctx context.Context, db DBTX, c call) (int64, error) {
	if c.err != nil {
		return 0, c.err
	}
	tag, err := db.Exec(ctx, c.sql, c.values...)
	return tag.RowsAffected(), err
}

// stream gives the rows of a statement as they come.
func stream[T any](ctx context.Context, db DBTX, c call, t *rowType[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if c.err != nil {
			yield(zero, c.err)
			return
		}
		rows, err := db.Query(ctx, c.sql, append([]any{pgx.QueryResultFormats(t.formats)}, c.values...)...)
		if err != nil {
			yield(zero, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			row, err := t.of(rows.FieldDescriptions(), rows.RawValues())
			if !yield(row, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, err)
		}
	}
}

// all gives the rows of a statement.
func all[T any](ctx context.Context, db DBTX, c call, t *rowType[T]) ([]T, error) {
	var rows []T
	for row, err := range stream(ctx, db, c, t) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// one gives the first row of a statement, which runs to its end. Without a row it is pgx.ErrNoRows.
func one[T any](ctx context.Context, db DBTX, c call, t *rowType[T]) (T, error) {
	var zero, first T
	found := false
	for row, err := range stream(ctx, db, c, t) {
		if err != nil {
			return zero, err
		}
		if !found {
			first, found = row, true
		}
	}
	if !found {
		return zero, pgx.ErrNoRows
	}
	return first, nil
}

// executeBatch runs a statement for many sets of parameters, all of them or none, and gives the number of rows that they changed.
func executeBatch(ctx context.Context, db DBTX, items []call) (int64, error) {
	var batch pgx.Batch
	for i := range items {
		if items[i].err != nil {
			return 0, fmt.Errorf("item %d: %w", i+1, items[i].err)
		}
		batch.Queue(items[i].sql, items[i].values...)
	}
	results := db.SendBatch(ctx, &batch)
	var changed int64
	for i := range items {
		tag, err := results.Exec()
		if err != nil {
			return 0, errors.Join(fmt.Errorf("item %d: %w", i+1, err), closed(results, err))
		}
		changed += tag.RowsAffected()
	}
	return changed, results.Close()
}

// closed closes what gave an error, and leaves out that it says the same.
func closed(results pgx.BatchResults, known error) error {
	if err := results.Close(); err != nil && err.Error() != known.Error() {
		return err
	}
	return nil
}

// queryBatch runs a statement for many sets of parameters, all of them or none, and gives the rows of each.
func queryBatch[T any](ctx context.Context, db DBTX, items []call, t *rowType[T]) ([][]T, error) {
	var batch pgconn.Batch
	for i := range items {
		if items[i].err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, items[i].err)
		}
		// pgx.Batch asks for the formats that the connection's types have, which are not ours.
		batch.ExecParams(items[i].sql, items[i].literals(), nil, nil, t.formats)
	}
	all := make([][]T, 0, len(items))
	err := withConn(ctx, db, func(conn *pgx.Conn) (err error) {
		results := conn.PgConn().ExecBatch(ctx, &batch)
		defer func() { err = errors.Join(err, results.Close()) }()
		for results.NextResult() {
			result := results.ResultReader()
			rows := []T{}
			for result.NextRow() {
				row, err := t.of(result.FieldDescriptions(), result.Values())
				if err != nil {
					return fmt.Errorf("item %d: %w", len(all)+1, err)
				}
				rows = append(rows, row)
			}
			if _, err := result.Close(); err != nil {
				return nil
			}
			all = append(all, rows)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// firsts gives the first row of each item of a batch, and nil for those that have none.
func firsts[T any](all [][]T, err error) ([]*T, error) {
	if err != nil {
		return nil, err
	}
	rows := make([]*T, len(all))
	for i := range all {
		if len(all[i]) > 0 {
			rows[i] = &all[i][0]
		}
	}
	return rows, nil
}

// withConn works on the connection of a DBTX.
func withConn(ctx context.Context, db DBTX, work func(*pgx.Conn) error) error {
	switch db := db.(type) {
	case *pgx.Conn:
		return work(db)
	case pgx.Tx:
		// Once it is over, its connection may be somebody else's, which only calls of its own tell. This one sends nothing.
		if err := db.SendBatch(ctx, &pgx.Batch{}).Close(); err != nil {
			return err
		}
		return work(db.Conn())
	case interface{ Conn() *pgx.Conn }:
		if conn := db.Conn(); conn != nil {
			return work(conn)
		}
	case interface {
		AcquireFunc(context.Context, func(*pgxpool.Conn) error) error
	}:
		return db.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return work(conn.Conn()) })
	}
	return fmt.Errorf("%T gives no *pgx.Conn", db)
}
