// This program measures generated Go and what one writes by hand with pgx: an action a line, an answer a line.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"generated/sensor"
)

const (
	calls = 2_000
	pages = 50
	page  = 1_000
)

type action struct {
	name string
	run  func() (int64, error)
}

func main() {
	ctx := context.Background()
	count := must(strconv.Atoi(os.Args[1]))
	// The place is in the environment.
	conn := must(pgx.Connect(ctx, ""))
	generated, hand := makeRows(count)
	keys, starts := makeKeys(calls, count), makeKeys(pages, max(1, count-page))
	queries := sensor.New(conn)
	actions := []action{
		{"append generated", func() (int64, error) {
			return committed(ctx, conn, func(tx pgx.Tx) (int64, error) {
				return queries.WithTx(tx).AppendSensorReadings(ctx, sensor.Rows(generated))
			})
		}},
		{"append CopyFrom", func() (int64, error) {
			return committed(ctx, conn, func(tx pgx.Tx) (int64, error) { return handAppend(ctx, tx, hand) })
		}},
		{"one generated", func() (int64, error) {
			return each(keys, func(key int64) (int64, error) {
				row, err := queries.ReadingByID(ctx, key)
				if err != nil {
					return 0, err
				}
				return ofOne(&row), nil
			})
		}},
		{"one hand", func() (int64, error) {
			return each(keys, func(key int64) (int64, error) {
				row, err := handOne(ctx, conn, key)
				if err != nil {
					return 0, err
				}
				return ofHand(&row), nil
			})
		}},
		{"all generated", func() (int64, error) {
			return each(starts, func(key int64) (int64, error) {
				rows, err := queries.ReadingsFrom(ctx, sensor.ReadingsFromParams{ID: key, Count: page})
				return total(rows, ofAll), err
			})
		}},
		{"all hand", func() (int64, error) {
			return each(starts, func(key int64) (int64, error) {
				rows, err := handAll(ctx, conn, key, page)
				return total(rows, ofHand), err
			})
		}},
	}
	answer(actions)
}

// answer does what the lines of the input name.
func answer(actions []action) {
	names, byName := []string{}, map[string]action{}
	for _, a := range actions {
		names, byName[a.name] = append(names, a.name), a
	}
	say(map[string]any{"version": fmt.Sprintf("%s, pgx %s", runtime.Version(), driver()), "actions": names})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		// What one way left is not to be collected while the other is measured.
		runtime.GC()
		cpu, start := processor(), time.Now()
		check := must(byName[lines.Text()].run())
		say(map[string]any{"wall": time.Since(start).Seconds(), "cpu": (processor() - cpu).Seconds(), "check": check})
	}
}

func committed(ctx context.Context, conn *pgx.Conn, work func(pgx.Tx) (int64, error)) (count int64, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		count, err = work(tx)
		return err
	})
	return count, err
}

func each(keys []int64, read func(int64) (int64, error)) (int64, error) {
	var sum int64
	for _, key := range keys {
		value, err := read(key)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}

func total[T any](rows []T, of func(*T) int64) int64 {
	var sum int64
	for i := range rows {
		sum += of(&rows[i])
	}
	return sum
}

// processor gives what all threads had of it.
func processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func driver() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/jackc/pgx/v5" {
				return module.Version
			}
		}
	}
	return "?"
}

func say(line map[string]any) {
	fmt.Println(string(must(json.Marshal(line))))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
