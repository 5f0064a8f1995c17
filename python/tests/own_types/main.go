// Rows of types that a program has of its own: they are written and read, and given as parameters.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"

	"generated/ids"
	"generated/own"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func like(what string, found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fmt.Println(what, found, expected)
	}
}

func main() {
	ctx := context.Background()
	conn := must(pgx.Connect(ctx, os.Getenv("HOWDAH_DSN")))
	q := own.New(conn)
	cents := func(count own.Cents) *own.Cents { return &count }
	prices := own.Array[own.Cents]{Elements: []*own.Cents{cents(150), nil, cents(275)}}
	rows := []own.UsersRow{
		{ID: ids.UserID{Value: 1}, Price: 150},
		{ID: ids.UserID{Value: 2}, Price: 275, Least: cents(100), Prices: &prices},
	}
	last := own.UsersRow{ID: ids.UserID{Value: 3}, Price: 1, Least: cents(1)}
	given := func(rows ...own.UsersRow) func(func(own.UsersRow, error) bool) {
		return func(yield func(own.UsersRow, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
	like("appended", must(q.AppendUsers(ctx, given(rows...))), int64(2))
	like("upserted", must(q.UpsertUsers(ctx, given(last))), int64(1))
	read := must(q.AllUsers(ctx))
	for index := range read {
		if read[index].Prices != nil {
			like("prices", read[index].Prices.Elements, prices.Elements)
			read[index].Prices = &prices
		}
	}
	like("rows", read, append(slices.Clone(rows), last))
	like("a row", must(q.GetUser(ctx, ids.UserID{Value: 2})).Price, own.Cents(275))
	_, err := q.GetUser(ctx, ids.UserID{Value: 4})
	like("no row", err, pgx.ErrNoRows)
	like("by null", len(must(q.AtLeast(ctx, nil))), 3)
	like("by a value", must(q.AtLeast(ctx, cents(200))), []ids.UserID{{Value: 2}})
	like("by an array", must(q.WithPrices(ctx, prices)), []ids.UserID{{Value: 2}})
}
