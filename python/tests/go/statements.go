package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"generated/hostile"
	"generated/queries"
	"generated/several"
	"generated/wordy"
)

func statements(ctx context.Context, pool *pgxpool.Pool) {
	conn := connection(ctx)
	q := queries.New(conn)
	b := "b"
	rows, err := q.Add(ctx, queries.AddParams{A: 1, B: &b})
	that(fmt.Sprint("EXEC: ", rows, err), rows == 1 && err == nil)
	rows, err = q.AddBatch(ctx, []queries.AddParams{{A: 2}, {A: 3, B: &b}})
	that(fmt.Sprint("EXEC in a batch: ", rows, err), rows == 2 && err == nil)
	rows, err = q.AddBatch(ctx, nil)
	that(fmt.Sprint("an empty batch: ", rows, err), rows == 0 && err == nil)
	nul := "\x00"
	_, err = q.AddBatch(ctx, []queries.AddParams{{A: 7}, {A: 8, B: &nul}})
	refused("a bad item", "item 2: parameter b: a text with the character 0", err)
	added, err := q.AddReturningBatch(ctx, []queries.AddReturningParams{{A: 4, B: &b}, {A: 5}})
	that(fmt.Sprint("RETURNING in a batch: ", added, err), len(added) == 2 && added[1].A == 5 && added[1].B == nil)
	_, err = q.QuotientBatch(ctx, []int32{1, 0, 2})
	refused("a batch that fails", "division by zero", err)
	quotients, err := q.QuotientBatch(ctx, []int32{1, 2})
	that(fmt.Sprint("rows of a batch: ", quotients, err), reflect.DeepEqual(quotients, [][]int32{{10}, {5}}))
	var items []queries.Item
	items, err = q.AllItems(ctx)
	that(fmt.Sprint("a row named by :result: ", items, err), len(items) == 5 && *items[0].B == "b")
	twice, err := q.Twice(ctx, queries.TwiceParams{A: 4})
	that(fmt.Sprint("a parameter twice: ", twice, err), twice == queries.Item{A: 8})
	number, err := q.Count(ctx)
	that(fmt.Sprint(":pluck :one: ", number, err), number == 5 && err == nil)
	all, err := q.AllB(ctx)
	that(fmt.Sprint(":pluck: ", all, err), len(all) == 5 && all[1] == nil && *all[2] == "b")
	_, err = q.NoRow(ctx)
	that(fmt.Sprint("no row: ", err), errors.Is(err, pgx.ErrNoRows))
	_, err = q.Nothing(ctx)
	refused("null", "column v: it is null, and said not to be", err)
	same, err := q.Operators(ctx, nil)
	that(fmt.Sprint("operators: ", same, err), len(same) == 0 && err == nil)
	streams(ctx, conn, q)
	modes(ctx, q)
	several.NewFirstQueries(pool)
	one, err := several.NewSecondQueries(pool).Get(ctx, several.MoodHappy)
	that(fmt.Sprint("two modules: ", one, err), one == several.GetRow_2{Mood: several.MoodHappy} && err == nil)
}

func streams(ctx context.Context, conn *pgx.Conn, q *queries.Queries) {
	seen := 0
	for number, err := range q.NumbersStream(ctx, 100) {
		that(fmt.Sprint("a stream: ", err), err == nil && number == 0)
		if seen++; seen == 10 {
			break
		}
	}
	seen = 0
	for _, err := range q.NumbersStream(ctx, 3000) {
		if err != nil {
			refused("a stream", "division by zero", err)
		}
		seen++
	}
	that(fmt.Sprint("rows and their error: ", seen), seen == 2501)
	_, err := q.Numbers(ctx, 3000)
	refused("all", "division by zero", err)
	tx := must(conn.Begin(ctx))
	must(q.WithTx(tx).Add(ctx, queries.AddParams{A: 9}))
	must(0, tx.Rollback(ctx))
	that("a transaction is left", must(q.Count(ctx)) == 5)
}

// modes tells which ways of pgx to send statements are not taken.
func modes(ctx context.Context, q *queries.Queries) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		config := connection(ctx).Config()
		config.DefaultQueryExecMode = mode
		other := queries.New(must(pgx.ConnectConfig(ctx, config)))
		rows, err := other.Touch(ctx, 1)
		that(fmt.Sprint("EXEC by ", mode, rows, err), rows == 1 && err == nil)
		found, err := other.AllItems(ctx)
		if mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
			refused(mode.String(), "give no binary results", err)
		} else {
			that(fmt.Sprint("QUERY by ", mode, err), len(found) == 5 && err == nil)
		}
	}
}

// hostileNames finds by reflection what has the names that the golden file shows.
func hostileNames(ctx context.Context, pool *pgxpool.Pool) {
	q := reflect.ValueOf(hostile.New(pool))
	run := 0
	for i := range q.NumMethod() {
		method, name := q.Method(i), q.Type().Method(i).Name
		if name == "WithTx" || method.Type().NumOut() != 2 {
			continue
		}
		given := []reflect.Value{reflect.ValueOf(ctx)}
		for j := 1; j < method.Type().NumIn(); j++ {
			given = append(given, filled(method.Type().In(j)))
		}
		if err, _ := method.Call(given)[1].Interface().(error); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			fmt.Println(name, err)
		}
		run++
	}
	that(fmt.Sprint("methods that ran: ", run), run > 5)
}

// filled gives a value that is refused nowhere, an append one row.
func filled(kind reflect.Type) reflect.Value {
	if kind.Kind() == reflect.Func {
		return reflect.MakeFunc(kind, func(yield []reflect.Value) []reflect.Value {
			row := kind.In(0)
			yield[0].Call([]reflect.Value{reflect.Zero(row.In(0)), reflect.Zero(row.In(1))})
			return nil
		})
	}
	if kind.Kind() == reflect.Slice {
		return reflect.Append(reflect.Zero(kind), filled(kind.Elem()))
	}
	value := reflect.New(kind).Elem()
	if kind.Kind() == reflect.Struct {
		for i := range kind.NumField() {
			value.Field(i).Set(filled(kind.Field(i).Type))
		}
	}
	if _, ok := value.Interface().(interface{ Valid() bool }); ok {
		value.SetString("happy")
	}
	return value
}

// words prints the texts of statements, which are those of their files.
func words(ctx context.Context, pool *pgxpool.Pool) {
	q := reflect.ValueOf(wordy.New(pool))
	for i := range q.NumMethod() {
		name := q.Type().Method(i).Name
		if !strings.HasPrefix(name, "Text") && !strings.HasPrefix(name, "Same") && !strings.HasPrefix(name, "Enum") {
			continue
		}
		if strings.HasSuffix(name, "Stream") {
			continue
		}
		out := q.Method(i).Call([]reflect.Value{reflect.ValueOf(ctx)})
		if err, _ := out[1].Interface().(error); err != nil {
			fmt.Println(name, err)
		}
		fmt.Printf("%s %x\n", name, out[0].String())
	}
}
