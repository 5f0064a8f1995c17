// Rows written by their key. Arguments: what to do, and on what: conn, tx or pool. It prints what is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"generated/hostile"
	"generated/upserts"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func that(what string, holds bool) {
	if !holds {
		fmt.Println(what)
	}
}

// given gives rows as those of a table, and an error behind them if there is one.
func given[S, R any](rows []S, of func(S) R, failure error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, row := range rows {
			if !yield(of(row), nil) {
				return
			}
		}
		if failure != nil {
			var none R
			yield(none, failure)
		}
	}
}

// rowsOf gives rows of a statement as those of a table.
func rowsOf[R, S any](rows []S) iter.Seq2[R, error] {
	return given(rows, func(row S) R {
		return reflect.ValueOf(row).Convert(reflect.TypeFor[R]()).Interface().(R)
	}, nil)
}

func same[R any](row R) R { return row }

// within works on what the second argument says, in a transaction that it commits.
func within(ctx context.Context, work func(upserts.DBTX)) {
	switch os.Args[2] {
	case "pool":
		pool := must(pgxpool.New(ctx, os.Getenv("HOWDAH_DSN")))
		defer pool.Close()
		work(pool)
	case "tx":
		conn := must(pgx.Connect(ctx, os.Getenv("HOWDAH_DSN")))
		tx := must(conn.Begin(ctx))
		work(tx)
		that("the commit", tx.Commit(ctx) == nil)
	default:
		work(must(pgx.Connect(ctx, os.Getenv("HOWDAH_DSN"))))
	}
}

func step(ctx context.Context, write func(upserts.DBTX) (int64, error)) {
	within(ctx, func(db upserts.DBTX) { fmt.Println(must(write(db))) })
}

func steps(ctx context.Context) {
	// STEPS
}

func row(a int32, b string, c int32) upserts.OneBinaryRow {
	return upserts.OneBinaryRow{A: &a, B: &b, C: &c}
}

func value(ctx context.Context, db upserts.DBTX, sql string) (found int) {
	rows := must(db.Query(ctx, sql))
	return must(pgx.CollectExactlyOneRow(rows, pgx.RowTo[int]))
}

// attempt gives a panic as an error.
func attempt(work func() (int64, error)) (err error) {
	defer func() {
		if told := recover(); told != nil {
			err = fmt.Errorf("panic: %v", told)
		}
	}()
	_, err = work()
	return err
}

func faults(ctx context.Context, db upserts.DBTX) {
	q := upserts.New(db)
	many := make([]upserts.OneBinaryRow, 20_000)
	for i := range many {
		many[i] = row(int32(i), strings.Repeat("x", 100), 1)
	}
	good, nowhere, one := row(1, "a", 1), "none", int32(1)
	binary := func(failure error, rows ...upserts.OneBinaryRow) func() (int64, error) {
		return func() (int64, error) { return q.UpsertOneBinary(ctx, given(rows, same, failure)) }
	}
	kinds := []struct {
		why   string
		write func() (int64, error)
	}{
		{"row 2, column b", binary(nil, good, row(2, "\x00", 1))},
		{"check", binary(nil, good, row(2, "a", 100))},
		{"type point", func() (int64, error) {
			return q.UpsertOneText(ctx, upserts.Rows([]upserts.OneTextRow{{A: &one, B: &nowhere, P: &nowhere, C: &one}}))
		}},
		{"row k", binary(errors.New("row k"), many...)},
		{"panic: row p", func() (int64, error) {
			return q.UpsertOneBinary(ctx, given(many, func(row upserts.OneBinaryRow) upserts.OneBinaryRow {
				if *row.A == 19_999 {
					panic("row p")
				}
				return row
			}, nil))
		}},
	}
	for i, each := range kinds {
		must(db.Exec(ctx, "INSERT INTO log VALUES ($1)", i))
		err := attempt(each.write)
		that(fmt.Sprint(each.why, ": ", err), err != nil && strings.Contains(err.Error(), each.why))
		// The statement before is there, the connection goes on, and no table is left.
		that(each.why+": the log", value(ctx, db, "SELECT count(*) FROM log") == i+1)
		that(each.why+": a table is left", value(ctx, db, "LEFT") == 0)
	}
	that("the last", must(binary(nil, good, row(1, "b", 2))()) == 1)
}

// stopped has a context that ends while rows are given, and a transaction that is committed by another one.
func stopped(ctx context.Context) {
	conn := must(pgx.Connect(ctx, os.Getenv("HOWDAH_DSN")))
	tx := must(conn.Begin(ctx))
	short, cancel := context.WithCancel(ctx)
	_, err := upserts.New(tx).UpsertOneBinary(short, func(yield func(upserts.OneBinaryRow, error) bool) {
		yield(row(1, "a", 1), nil)
		cancel()
	})
	that(fmt.Sprint("stopped: ", err), errors.Is(err, context.Canceled))
	_ = tx.Commit(ctx)
}

func hostileNames(ctx context.Context, db upserts.DBTX) {
	q := hostile.New(db.(hostile.DBTX))
	name := "HOSTILE"
	rows := must(q.Import(ctx, &name))
	that("one", len(rows) == 1)
	that("ignored", must(q.IgnoreT(ctx, given(rows, same, nil))) == 0)
	that("upserted", must(q.UpsertT(ctx, given(append(rows, rows...), same, nil))) == 1)
	that("same", reflect.DeepEqual(must(q.Import(ctx, &name)), rows))
}

func main() {
	ctx := context.Background()
	switch os.Args[1] {
	case "steps":
		steps(ctx)
	case "faults":
		within(ctx, func(db upserts.DBTX) { faults(ctx, db) })
	case "stopped":
		stopped(ctx)
	default:
		within(ctx, func(db upserts.DBTX) { hostileNames(ctx, db) })
	}
}
