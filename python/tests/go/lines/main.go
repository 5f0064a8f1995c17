// Statements of optional lines, in all their combinations. It prints what they find.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"generated/lines"
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

func refused(what, words string, err error) {
	that(fmt.Sprint(what, " is refused otherwise: ", err), err != nil && strings.Contains(err.Error(), words))
}

func combinations() []lines.FindItemsParams {
	var all []lines.FindItemsParams
	a, three := "a", int32(3)
	for _, kind := range []*string{&a, nil} {
		for _, least := range []*int32{&three, nil} {
			for _, present := range []bool{true, false} {
				for op := lines.FindItemsOpX3c; op <= lines.FindItemsOpX3cx3e; op++ {
					for sort := lines.FindItemsSort(0); sort <= lines.FindItemsSortID; sort++ {
						all = append(all, lines.FindItemsParams{
							Kind: kind, Least: least, Span: 4, Present: present, Op: op, Sort: sort,
						})
					}
				}
			}
		}
	}
	return all
}

func show(way string, ids []int32) {
	fmt.Println(way + ": " + strings.Trim(fmt.Sprint(ids), "[]"))
}

func find(ctx context.Context, q *lines.Queries) {
	for _, each := range combinations() {
		show("all", must(q.FindItems(ctx, each)))
		var ids []int32
		for id, err := range q.FindItemsStream(ctx, each) {
			ids = append(ids, must(id, err))
		}
		show("stream", ids)
	}
	for _, ids := range must(q.FindItemsBatch(ctx, combinations())) {
		show("batch", ids)
	}
}

func move(ctx context.Context, q *lines.Queries) {
	var counts []int64
	var batch []lines.MoveItemsParams
	for by, each := range combinations() {
		item := lines.MoveItemsParams{Kind: each.Kind, Least: each.Least, Span: each.Span, Present: each.Present, By: int32(by)}
		if by < 20 {
			counts = append(counts, must(q.MoveItems(ctx, item)))
		} else {
			batch = append(batch, item)
		}
	}
	counts = append(counts, must(q.MoveItemsBatch(ctx, batch)))
	fmt.Println("moved:", strings.ReplaceAll(fmt.Sprint(counts), " ", ", "))
}

func points(text *string) {
	fmt.Println("text:", strings.Trim(fmt.Sprint([]rune(*text)), "[]"))
}

func hostile(ctx context.Context, q *lines.Queries, value string) {
	var batch []lines.HostileParams
	for _, sql := range []*string{nil, &value} {
		for rows := lines.HostileRows(1); int(rows) <= 7; rows++ {
			item := lines.HostileParams{SQL: sql, Rows: rows}
			points(must(q.Hostile(ctx, item)))
			if sql == nil {
				batch = append(batch, item)
			}
		}
	}
	for _, text := range must(q.HostileBatch(ctx, batch)) {
		points(*text)
	}
}

func refusals(ctx context.Context, q *lines.Queries) {
	nul := "\x00"
	for _, each := range []struct {
		item lines.FindItemsParams
		told string
	}{
		{lines.FindItemsParams{}, "parameter op: 0 is none of its constants"},
		{lines.FindItemsParams{Op: -1}, "parameter op: -1 is none of its constants"},
		{lines.FindItemsParams{Op: 1, Sort: 4}, "parameter sort: 4 is none of its constants"},
		{lines.FindItemsParams{Op: 1, Kind: &nul}, "parameter kind: a text with the character 0"},
	} {
		_, err := q.FindItems(ctx, each.item)
		refused("a statement", each.told, err)
		_, err = q.FindItemsBatch(ctx, []lines.FindItemsParams{{Op: 1}, each.item})
		refused("a batch", "item 2: "+each.told, err)
		for _, err := range q.FindItemsStream(ctx, each.item) {
			refused("a stream", each.told, err)
		}
	}
	_, err := q.MoveItemsBatch(ctx, []lines.MoveItemsParams{{By: 1}, {Present: true, By: 1<<31 - 1}})
	refused("a batch that leaves half of it", "item 2: ERROR: integer out of range", err)
}

func main() {
	ctx := context.Background()
	conn := must(pgx.Connect(ctx, os.Getenv("HOWDAH_DSN")))
	q := lines.New(conn)
	refusals(ctx, q)
	find(ctx, q)
	move(ctx, q)
	hostile(ctx, q, os.Args[1])
	that("operators", *must(q.Operators(ctx, lines.OperatorsClassX3f)))
	seven := int32(7)
	twice := must(q.Twice(ctx, lines.TwiceParams{By: &seven, Few: true}))
	that(fmt.Sprint("twice ", twice), len(twice) == 1 && *twice[0] == seven)
	for i, expected := range []int32{1, 3, 2, 4} {
		sum := must(q.Nobody(ctx, lines.NobodyParams{Changed: i > 1, Place: i%2 == 1}))
		that(fmt.Sprint("nobody ", i, ": ", *sum), *sum == expected)
	}
	moved, err := q.MovedItem(ctx, lines.MovedItemParams{ID: 4, By: 2})
	that(fmt.Sprint("moved ", moved, err), moved == 4 && err == nil)
	_, err = q.MovedItem(ctx, lines.MovedItemParams{ID: 4, By: 2, Present: true})
	that(fmt.Sprint("not moved: ", err), errors.Is(err, pgx.ErrNoRows))
}
