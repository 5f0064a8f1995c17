package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	binary "generated/faultsbinary"
	text "generated/faultstext"
)

// tableT is the table, with its rows in binary COPY or as text.
type tableT struct {
	append func(ctx context.Context, db any, numbers iter.Seq2[int32, error], date *time.Time) (int64, error)
}

func tables() map[string]tableT {
	return map[string]tableT{
		"binary": {func(ctx context.Context, db any, numbers iter.Seq2[int32, error], date *time.Time) (int64, error) {
			return binary.New(db.(binary.DBTX)).AppendT(ctx, func(yield func(binary.TRow, error) bool) {
				for number, err := range numbers {
					if !yield(binary.TRow{A: &number, B: date}, err) {
						return
					}
				}
			})
		}},
		"text": {func(ctx context.Context, db any, numbers iter.Seq2[int32, error], date *time.Time) (int64, error) {
			return text.New(db.(text.DBTX)).AppendT(ctx, func(yield func(text.TRow, error) bool) {
				for number, err := range numbers {
					if !yield(text.TRow{A: &number, B: date}, err) {
						return
					}
				}
			})
		}},
	}
}

// count gives numbers, and an error behind them if there is one.
func count(last int32, failure error) iter.Seq2[int32, error] {
	return func(yield func(int32, error) bool) {
		for i := range last {
			if !yield(i, nil) {
				return
			}
		}
		if failure != nil {
			yield(0, failure)
		}
	}
}

// left tells if the table has another number of rows, by the connection of the append, which shows that it goes on.
func left(ctx context.Context, what string, conn *pgx.Conn, rows int) {
	var found int
	err := conn.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&found)
	that(fmt.Sprintf("%s: %d rows and not %d: %v", what, found, rows, err), err == nil && found == rows)
}

func appending(ctx context.Context, pool *pgxpool.Pool) {
	t := tables()[os.Args[2]]
	conn := connection(ctx)
	producers(ctx, t, conn)
	servers(ctx, t, conn)
	transactions(ctx, t, conn, pool)
	lost(ctx, t, conn)
	finished(ctx, t, conn)
}

func producers(ctx context.Context, t tableT, conn *pgx.Conn) {
	for _, failure := range []error{errK, io.EOF} {
		for _, rows := range []int32{0, 1, 100_000} {
			_, err := t.append(ctx, conn, count(rows, failure), nil)
			that(fmt.Sprint("another error: ", err), errors.Is(err, failure))
			left(ctx, "a producer that fails", conn, 0)
		}
	}
	func() {
		defer func() { that("the panic is lost", recover() == "k") }()
		_, _ = t.append(ctx, conn, func(yield func(int32, error) bool) {
			count(100_000, nil)(yield)
			panic("k")
		}, nil)
	}()
	left(ctx, "a producer that panics", conn, 0)
	far := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	_, err := t.append(ctx, conn, count(3, nil), &far)
	refused("a bad value", "row 1, column b: a date with a time of day", err)
	left(ctx, "a bad value", conn, 0)
	// What the producer does with the connection of the COPY is refused, and nothing waits for it.
	_, err = t.append(ctx, conn, func(yield func(int32, error) bool) {
		_, err := conn.Exec(ctx, "SELECT 1")
		yield(1, err)
	}, nil)
	refused("a busy connection", "conn busy", err)
	left(ctx, "a busy connection", conn, 0)
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err = t.append(stopped, conn, count(3, nil), nil)
	that(fmt.Sprint("not stopped: ", err), errors.Is(err, context.Canceled))
	left(ctx, "a context that was cancelled before", conn, 0)
}

func servers(ctx context.Context, t tableT, conn *pgx.Conn) {
	var told *pgconn.PgError
	_, err := t.append(ctx, conn, func(yield func(int32, error) bool) {
		_ = yield(1, nil) && yield(1, nil)
	}, nil)
	that(fmt.Sprint("no unique_violation: ", err), errors.As(err, &told) && told.Code == "23505")
	left(ctx, "a row twice", conn, 0)
	// The server refuses while rows are still given.
	_, err = t.append(ctx, conn, func(yield func(int32, error) bool) {
		for yield(7, nil) {
		}
	}, nil)
	that(fmt.Sprint("no unique_violation: ", err), errors.As(err, &told) && told.Code == "23505")
	left(ctx, "rows without an end", conn, 0)
}

func transactions(ctx context.Context, t tableT, conn *pgx.Conn, pool *pgxpool.Pool) {
	tx := must(conn.Begin(ctx))
	_, err := t.append(ctx, tx, count(3, nil), nil)
	that(fmt.Sprint("in a transaction: ", err), err == nil)
	left(ctx, "in a transaction", conn, 3)
	must(0, tx.Rollback(ctx))
	left(ctx, "after the rollback", conn, 0)
	_, err = t.append(ctx, tx, count(3, nil), nil)
	that(fmt.Sprint("in a transaction that is over: ", err), errors.Is(err, pgx.ErrTxClosed))
	left(ctx, "in a transaction that is over", conn, 0)
	// Its connection is the pool's again.
	over := must(pool.Begin(ctx))
	must(0, over.Commit(ctx))
	_, err = t.append(ctx, over, count(3, nil), nil)
	that(fmt.Sprint("in a pool's transaction that is over: ", err), errors.Is(err, pgx.ErrTxClosed))
	left(ctx, "in a pool's transaction that is over", conn, 0)
	_, err = t.append(ctx, pool, count(1, nil), nil)
	that(fmt.Sprint("by a pool: ", err), err == nil)
	left(ctx, "by a pool", conn, 1)
	that("the pool misses a connection", pool.Stat().AcquiredConns() == 0)
	must(conn.Exec(ctx, "TRUNCATE t"))
}

func lost(ctx context.Context, t tableT, conn *pgx.Conn) {
	other := connection(ctx)
	_, err := t.append(ctx, other, func(yield func(int32, error) bool) {
		for i := range int32(1_000_000) {
			if i == 1000 {
				must(conn.Exec(ctx, "SELECT pg_terminate_backend($1, 10000)", other.PgConn().PID()))
			}
			if !yield(i, nil) {
				return
			}
		}
	}, nil)
	that("a lost connection is no error", err != nil)
	left(ctx, "a lost connection", conn, 0)
	other = connection(ctx)
	stopped, stop := context.WithCancel(ctx)
	_, err = t.append(stopped, other, func(yield func(int32, error) bool) {
		count(100_000, nil)(yield)
		stop()
		for yield(1, nil) {
		}
	}, nil)
	that(fmt.Sprint("not stopped: ", err), errors.Is(err, context.Canceled))
	left(ctx, "a context that is cancelled", conn, 0)
}

func finished(ctx context.Context, t tableT, conn *pgx.Conn) {
	rows, err := t.append(ctx, conn, count(100_000, nil), nil)
	that(fmt.Sprint("the count: ", rows, err), rows == 100_000 && err == nil)
	left(ctx, "all rows", conn, 100_000)
	rows, err = t.append(ctx, conn, count(0, nil), nil)
	that(fmt.Sprint("no rows: ", rows, err), rows == 0 && err == nil)
	must(conn.Exec(ctx, `TRUNCATE t;
		CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER drop_it BEFORE INSERT ON t FOR EACH ROW WHEN (new.a = 1) EXECUTE FUNCTION nothing()`))
	_, err = t.append(ctx, conn, count(3, nil), nil)
	refused("rows that a trigger dropped", "the server counted 2 of 3 rows", err)
}
