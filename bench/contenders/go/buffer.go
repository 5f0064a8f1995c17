// A buffer between the producers of rows and the server: one bounded queue, several connections that empty it. A batch is
// written at once where a connection is free, and a connection is free again no sooner than the interval after its last
// batch began; a batch is whatever waits then, up to a size.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// item is a row on its way: what became of it is sent once.
type item struct {
	row     []any
	begin   time.Time
	settled time.Time
	result  chan error
}

func (i *item) settle(err error) {
	i.settled = time.Now()
	i.result <- err
}

// write stores a batch in one transaction.
type write func(ctx context.Context, connection *pgx.Conn, rows [][]any) error

type buffer struct {
	write    write
	size     int
	interval time.Duration
	queue    chan *item
	notice   chan struct{}
	free     chan *pgx.Conn
	ended    chan struct{}
}

// newBuffer starts a buffer over these connections. Its queue has as much room as all of them can take at once.
func newBuffer(write write, connections []*pgx.Conn, size int, interval time.Duration) *buffer {
	b := &buffer{
		write:    write,
		size:     size,
		interval: interval,
		queue:    make(chan *item, size*len(connections)),
		notice:   make(chan struct{}, 1),
		free:     make(chan *pgx.Conn, len(connections)),
		ended:    make(chan struct{}),
	}
	for _, connection := range connections {
		b.free <- connection
	}
	go b.dispatch()
	return b
}

// put waits while the queue is full.
func (b *buffer) put(i *item) {
	b.queue <- i
	b.notify()
}

func (b *buffer) notify() {
	select {
	case b.notice <- struct{}{}:
	default: // somebody has said so already
	}
}

// dispatch gives batches to free connections, as long as there are rows.
func (b *buffer) dispatch() {
	ticker := time.NewTicker(b.interval)
	defer ticker.Stop()
	for {
		select {
		case <-b.notice:
		case <-ticker.C:
		case <-b.ended:
			return
		}
		for len(b.queue) > 0 {
			var connection *pgx.Conn
			select {
			case connection = <-b.free:
			case <-b.ended:
				return
			}
			go b.flush(connection, b.drain())
		}
	}
}

// drain takes what waits, up to the size of a batch, and waits for nothing.
func (b *buffer) drain() []*item {
	var batch []*item
	for len(batch) < b.size {
		select {
		case i := <-b.queue:
			batch = append(batch, i)
		default:
			return batch
		}
	}
	return batch
}

// flush writes a batch. All its rows share what becomes of it.
func (b *buffer) flush(connection *pgx.Conn, batch []*item) {
	began := time.Now()
	if len(batch) > 0 {
		rows := make([][]any, len(batch))
		for at, i := range batch {
			rows[at] = i.row
		}
		err := b.write(context.Background(), connection, rows)
		for _, i := range batch {
			i.settle(err)
		}
		time.Sleep(time.Until(began.Add(b.interval)))
	}
	b.free <- connection
	b.notify()
}

// close ends the buffer; whoever closes it has heard of all rows.
func (b *buffer) close() { close(b.ended) }

// writes gives the ways of writing a batch into the task's table.
func writes(t task) map[string]write {
	places := make([]string, len(t.columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)",
		t.table, strings.Join(t.names(), ", "), strings.Join(places, ", "))
	return map[string]write{
		"service-copy": func(ctx context.Context, connection *pgx.Conn, rows [][]any) error {
			stored, err := connection.CopyFrom(ctx, pgx.Identifier{t.table}, t.names(), pgx.CopyFromRows(rows))
			if err == nil && stored != int64(len(rows)) {
				err = fmt.Errorf("a batch of %d rows came to %d at the server", len(rows), stored)
			}
			return err
		},
		"service-batch": func(ctx context.Context, connection *pgx.Conn, rows [][]any) error {
			batch := &pgx.Batch{}
			for _, row := range rows {
				batch.Queue(insert, row...)
			}
			// Without a BEGIN all statements up to the one synchronisation are a transaction.
			return connection.SendBatch(ctx, batch).Close()
		},
	}
}

func discard(context.Context, *pgx.Conn, [][]any) error { return nil }
