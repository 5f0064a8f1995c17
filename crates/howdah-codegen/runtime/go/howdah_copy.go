// This file appends rows to tables by COPY, all of them or none.

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// form is how a writer writes fields.
type form int

const (
	binaryRow form = iota
	textRow
	binaryComposite
	textComposite
)

// writer takes the fields of a row or of a composite value one after the other, until one is refused.
type writer struct {
	out   []byte
	form  form
	known oids
	// field is the one that came last, from 1.
	field int
	err   error
}

func put[T any](w *writer, c *codec[T], value T) {
	putNull(w, c, &value)
}

func putNull[T any](w *writer, c *codec[T], value *T) {
	if w.err != nil {
		return
	}
	w.field++
	switch w.form {
	case binaryRow:
		w.out, w.err = appendField(w.out, c, value, w.known)
	case binaryComposite:
		w.out = binary.BigEndian.AppendUint32(w.out, w.known.of(c.typ))
		w.out, w.err = appendField(w.out, c, value, w.known)
	case textRow:
		putText(w, '\t', `\N`, c, value, appendEscaped)
	case textComposite:
		putText(w, ',', "", c, value, appendQuoted)
	}
}

func putText[T any](w *writer, delimiter byte, null string, c *codec[T], value *T, escaped func(out, literal []byte) []byte) {
	if w.field > 1 {
		w.out = append(w.out, delimiter)
	}
	if value == nil {
		w.out = append(w.out, null...)
		return
	}
	literal, err := c.literal(nil, *value)
	w.out, w.err = escaped(w.out, literal), err
}

// appendEscaped appends a literal as a field of COPY's text format.
func appendEscaped(out, literal []byte) []byte {
	for _, c := range literal {
		switch c {
		case '\\':
			out = append(out, `\\`...)
		case '\t':
			out = append(out, `\t`...)
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// compositeBy writes the fields of a composite value.
func compositeBy[T any](w writer, write func(*writer, T), value T) ([]byte, error) {
	write(&w, value)
	if w.err != nil {
		return w.out, fmt.Errorf("field %d: %w", w.field, w.err)
	}
	return w.out, nil
}

// table is where an append goes, and how its rows are written.
type table[T any] struct {
	target  string
	columns []string
	types   []*pgType
	write   func(*writer, T)
}

// appendRow appends a row, or nothing if one of its values is refused.
func (t *table[T]) appendRow(w *writer, row T) *ValueError {
	start := len(w.out)
	w.field = 0
	if w.form == binaryRow {
		w.out = binary.BigEndian.AppendUint16(w.out, uint16(len(t.columns)))
	}
	t.write(w, row)
	if w.err != nil {
		w.out = w.out[:start]
		return &ValueError{Name: t.columns[w.field-1], Err: w.err}
	}
	if w.form == textRow {
		w.out = append(w.out, '\n')
	}
	return nil
}

// copySize is how many bytes go to the server at once: as many as pgconn reads for one message.
const copySize = 1<<16 - 5

// errProducer is all that the server is told of a failure that is none of its own.
var errProducer = errors.New("the rows ended with an error")

// appendRows appends rows, all of them or none, and gives their number as the server counted it.
func appendRows[T any](ctx context.Context, db DBTX, t *table[T], rows iter.Seq2[T, error]) (counted int64, err error) {
	err = withConn(ctx, db, func(conn *pgx.Conn) error {
		counted, err = appendTo(ctx, conn, t, rows)
		return err
	})
	return counted, err
}

func appendTo[T any](ctx context.Context, conn *pgx.Conn, t *table[T], rows iter.Seq2[T, error]) (int64, error) {
	if encoding := conn.PgConn().ParameterStatus("client_encoding"); encoding != "UTF8" {
		return 0, fmt.Errorf("client_encoding is %s, and rows are UTF8", encoding)
	}
	w := writer{form: binaryRow}
	for _, typ := range t.types {
		if typ.text {
			w.form = textRow
		}
	}
	sql := t.target + " (FORMAT text)"
	if w.form == binaryRow {
		known, err := findOids(ctx, conn, t.types)
		if err != nil {
			return 0, err
		}
		w.known = known
		sql = t.target + " (FORMAT binary)"
		w.out = append(w.out, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	}
	c := beginCopy(ctx, conn, sql)
	// Whatever leaves early, a panic of the producer too, cancels the COPY and gives the connection back.
	defer c.cancel()
	var appended int64
	for row, err := range rows {
		if err != nil {
			return 0, err
		}
		appended++
		if err := t.appendRow(&w, row); err != nil {
			err.Row = appended
			return 0, err
		}
		if len(w.out) >= copySize {
			// A rest would be a small message of its own.
			full := len(w.out) / copySize * copySize
			if err := c.send(w.out[:full]); err != nil {
				return 0, err
			}
			w.out = append(w.out[:0], w.out[full:]...)
		}
	}
	if w.form == binaryRow {
		w.out = append(w.out, 0xff, 0xff)
	}
	if err := c.send(w.out); err != nil {
		return 0, err
	}
	counted, err := c.finish()
	if err != nil {
		return 0, err
	}
	if counted != appended {
		return counted, fmt.Errorf("the server counted %d of %d rows: a trigger or a rule drops some; the others are there", counted, appended)
	}
	return counted, nil
}

// copying is a COPY that runs beside what gives its rows.
type copying struct {
	pipe *io.PipeWriter
	done chan struct{}
	tag  pgconn.CommandTag
	err  error
}

func beginCopy(ctx context.Context, conn *pgx.Conn, sql string) *copying {
	reader, pipe := io.Pipe()
	c := &copying{pipe: pipe, done: make(chan struct{})}
	source := &copySource{PipeReader: reader, asked: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.tag, c.err = conn.PgConn().CopyFrom(ctx, source, sql)
		// Who still gives rows hears of the end.
		source.CloseWithError(errProducer)
	}()
	// What gives the rows may use the connection too: that is refused, but only once the COPY has it.
	select {
	case <-source.asked:
	case <-c.done:
	}
	return c
}

// copySource tells when the COPY has the connection: then it asks for the first bytes.
type copySource struct {
	*io.PipeReader
	asked chan struct{}
	once  sync.Once
}

func (s *copySource) Read(part []byte) (int, error) {
	s.once.Do(func() { close(s.asked) })
	return s.PipeReader.Read(part)
}

// send gives bytes to the COPY. They may be overwritten afterwards.
func (c *copying) send(part []byte) error {
	if _, err := c.pipe.Write(part); err != nil {
		<-c.done
		return cmp.Or(c.err, err)
	}
	return nil
}

// finish sends CopyDone, and gives the number of rows.
func (c *copying) finish() (int64, error) {
	if err := c.pipe.Close(); err != nil {
		return 0, err
	}
	<-c.done
	return c.tag.RowsAffected(), c.err
}

// cancel sends CopyFail, unless the COPY is over.
func (c *copying) cancel() {
	c.pipe.CloseWithError(errProducer)
	<-c.done
}

// findOids asks for the types of a database that values name in their binary form.
func findOids(ctx context.Context, conn *pgx.Conn, types []*pgType) (oids, error) {
	var wanted []*pgType
	var find func(*pgType)
	find = func(typ *pgType) {
		for _, part := range typ.parts {
			if part.oid == 0 {
				wanted = append(wanted, part)
			}
			find(part)
		}
	}
	for _, typ := range types {
		find(typ)
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	schemas, names, arrays := make([]string, len(wanted)), make([]string, len(wanted)), make([]bool, len(wanted))
	for i, typ := range wanted {
		schemas[i], names[i], arrays[i] = typ.schema, typ.name, typ.array
	}
	const sql = `SELECT CASE WHEN w.is_array THEN t.typarray ELSE t.oid END
FROM unnest($1::text[], $2::text[], $3::bool[]) WITH ORDINALITY AS w (schema, name, is_array, place)
LEFT JOIN (pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace)
    ON n.nspname = w.schema AND t.typname = w.name
ORDER BY w.place`
	texts := arrayOf(textCodec, "pg_catalog", "text", ',')
	c := call{sql: sql}
	set(&c, "schemas", texts, ArrayOf(schemas...))
	set(&c, "names", texts, ArrayOf(names...))
	set(&c, "arrays", arrayOf(boolCodec, "pg_catalog", "bool", ','), ArrayOf(arrays...))
	read := func(r *reader) *uint32 { return getNull(r, oidCodec) }
	found, err := all(ctx, conn, c, newRowType(read, oidCodec.typ))
	if err != nil {
		return nil, err
	}
	known := oids{}
	for i, oid := range found {
		if oid == nil {
			return nil, fmt.Errorf("there is no type %s.%s", wanted[i].schema, wanted[i].name)
		}
		known[wanted[i]] = *oid
	}
	return known, nil
}
