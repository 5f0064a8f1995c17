// Writing all the time: rows are offered to a buffer one by one, as README.md says, and every acknowledgement is timed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// offer says when rows are offered.
type offer struct {
	rows        int
	producers   int
	steps       []step
	interval    time.Duration
	connections int
	discard     bool
}

// step is a rate for a while.
type step struct{ rate, seconds float64 }

func offerFromEnvironment() (offer, error) {
	o := offer{discard: os.Getenv("CONTENDER_DISCARD") == "1"}
	var wrong [4]error
	var interval float64
	o.producers, wrong[0] = strconv.Atoi(os.Getenv("CONTENDER_PRODUCERS"))
	o.rows, wrong[3] = strconv.Atoi(os.Getenv("CONTENDER_ROWS"))
	o.connections, wrong[1] = strconv.Atoi(os.Getenv("CONTENDER_CONNECTIONS"))
	interval, wrong[2] = strconv.ParseFloat(os.Getenv("CONTENDER_INTERVAL_MS"), 64)
	o.interval = time.Duration(interval * float64(time.Millisecond))
	if pace := os.Getenv("CONTENDER_PACE"); pace != "" {
		for _, part := range strings.Split(pace, ",") {
			var s step
			if _, err := fmt.Sscanf(part, "%g:%g", &s.rate, &s.seconds); err != nil {
				return o, err
			}
			o.steps = append(o.steps, s)
		}
	}
	return o, errors.Join(wrong[:]...)
}

// due is when a row is to be offered, from the start. Rows beyond the last step keep its rate.
func (o offer) due(row int) time.Duration {
	before, left := 0.0, float64(row)
	for at, s := range o.steps {
		if rows := s.rate * s.seconds; left >= rows && at+1 < len(o.steps) {
			before, left = before+s.seconds, left-rows
			continue
		}
		before += left / s.rate
		break
	}
	return time.Duration(before * float64(time.Second))
}

// ledger counts how long rows took.
type ledger struct {
	sync.Mutex
	counts map[uint64]uint64
	last   time.Time
	err    error
}

func (l *ledger) enter(begin, settled time.Time, err error) {
	l.Lock()
	defer l.Unlock()
	l.counts[rounded(uint64(max(0, settled.Sub(begin))))]++
	if settled.After(l.last) {
		l.last = settled
	}
	if l.err == nil {
		l.err = err
	}
}

// rounded keeps seven bits of nanoseconds, up to the next.
func rounded(nanoseconds uint64) uint64 {
	shift := max(0, bits.Len64(nanoseconds)-7)
	return (nanoseconds>>shift+1)<<shift - 1
}

// tell writes what the harness reads before DONE.
func (l *ledger) tell(start time.Time) error {
	told := struct {
		Seconds float64     `json:"seconds"`
		Counts  [][2]uint64 `json:"counts"`
	}{Seconds: l.last.Sub(start).Seconds(), Counts: [][2]uint64{}}
	for nanoseconds, count := range l.counts {
		told.Counts = append(told.Counts, [2]uint64{nanoseconds, count})
	}
	sort.Slice(told.Counts, func(a, b int) bool { return told.Counts[a][0] < told.Counts[b][0] })
	text, err := json.Marshal(told)
	fmt.Println("TOLD", string(text))
	return err
}

// firstRows reads so many rows of the file: what is offered is made beforehand.
func firstRows(t task, count int) ([][]any, error) {
	reader, file, err := t.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var rows [][]any
	for len(rows) < count {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		row, err := t.values(record)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// serve offers all rows and returns how many were acknowledged.
func serve(ctx context.Context, t task, way string) (int64, error) {
	o, err := offerFromEnvironment()
	if err != nil {
		return 0, err
	}
	rows, err := firstRows(t, o.rows)
	if err != nil {
		return 0, err
	}
	connections := make([]*pgx.Conn, o.connections)
	for at := range connections {
		if connections[at], err = pgx.Connect(ctx, t.url); err != nil {
			return 0, err
		}
		defer connections[at].Close(ctx)
	}
	write := writes(t)[way]
	if o.discard {
		write = discard
	}
	b := newBuffer(write, connections, t.batch, o.interval)
	defer b.close()
	if err := begin(); err != nil {
		return 0, err
	}
	l := &ledger{counts: map[uint64]uint64{}}
	start := time.Now()
	if o.producers > 0 {
		waiting(b, rows, o.producers, l)
	} else {
		flooding(b, rows, o, start, l)
	}
	if l.err != nil {
		return 0, l.err
	}
	return int64(len(rows)), l.tell(start)
}

// waiting has producers each of which waits for its row before it offers the next.
func waiting(b *buffer, rows [][]any, producers int, l *ledger) {
	next := make(chan []any)
	var all sync.WaitGroup
	for range producers {
		all.Add(1)
		go func() {
			defer all.Done()
			for row := range next {
				i := &item{row: row, begin: time.Now(), result: make(chan error, 1)}
				b.put(i)
				err := <-i.result
				l.enter(i.begin, time.Now(), err)
			}
		}()
	}
	for _, row := range rows {
		next <- row
	}
	close(next)
	all.Wait()
}

// flooding has one producer: as fast as rows are taken, or when they are due. Results are collected beside it.
func flooding(b *buffer, rows [][]any, o offer, start time.Time, l *ledger) {
	under := make(chan *item, 2*cap(b.queue)+2)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for i := range under {
			err := <-i.result
			l.enter(i.begin, i.settled, err)
		}
	}()
	for at, row := range rows {
		i := &item{row: row, begin: time.Now(), result: make(chan error, 1)}
		if len(o.steps) > 0 {
			i.begin = start.Add(o.due(at))
			time.Sleep(time.Until(i.begin))
		}
		b.put(i)
		under <- i
	}
	close(under)
	<-collected
}
