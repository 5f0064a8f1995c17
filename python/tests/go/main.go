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
)

var programs = map[string]func(context.Context, *pgxpool.Pool){
	"roundtrip": roundTrips, "refused": readRefused, "toomuch": writeTooMuch, "appending": appending,
	"statements": statements, "hostile": hostileNames, "words": words,
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("HOWDAH_DSN"))
	if err != nil {
		panic(err)
	}
	programs[os.Args[1]](ctx, pool)
	pool.Close()
}

// that tells what is not so.
func that(what string, holds bool) {
	if !holds {
		fmt.Println(what)
	}
}

// refused tells of an error that is none, or is another one.
func refused(what, words string, err error) {
	if err == nil {
		fmt.Println(what, "is not refused")
	} else if !strings.Contains(err.Error(), words) {
		fmt.Println(what, "is refused otherwise:", err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func connection(ctx context.Context) *pgx.Conn {
	return must(pgx.Connect(ctx, os.Getenv("HOWDAH_DSN")))
}

// roundTrip reads rows and appends them, one way and the other, and gives each value as a parameter.
func roundTrip[R, V any](
	ctx context.Context, name string, count int, read func(context.Context) ([]R, error),
	stream func(context.Context) iter.Seq2[R, error], given func([]R) iter.Seq2[R, error],
	write func(context.Context, iter.Seq2[R, error]) (int64, error), same func(context.Context, V) (*int32, error),
) {
	rows, err := read(ctx)
	that(fmt.Sprintf("%s: %d rows: %v", name, len(rows), err), len(rows) == count && err == nil)
	source := given(rows)
	if strings.HasSuffix(name, "_set") {
		source = stream(ctx)
	}
	written, err := write(ctx, source)
	that(fmt.Sprintf("%s: %d appended: %v", name, written, err), int(written) == count && err == nil)
	for _, row := range rows {
		value, _ := reflect.ValueOf(row).FieldByName("V").Interface().(V)
		found, err := same(ctx, value)
		that(fmt.Sprintf("%s: parameter %#v: %v", name, value, err), err == nil && found != nil)
	}
}

// fails gives some rows and then an error.
func fails[R any](rows []R, count int, failure error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for i := range count {
			if !yield(rows[i%len(rows)], nil) {
				return
			}
		}
		if failure != nil {
			var none R
			yield(none, failure)
		}
	}
}

var errK = errors.New("row k")
