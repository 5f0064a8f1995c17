// The appender that howdah generated: rows of its struct, written as binary COPY.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5"

	"howdah/bench/contenders/readings"
)

func init() {
	ways["generated"] = generatedAppender
}

// generatedAppender needs no transaction: it is one statement.
func generatedAppender(ctx context.Context, connection *pgx.Conn, t task) (int64, error) {
	if err := begin(); err != nil {
		return 0, err
	}
	reader, file, err := t.open()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	rows := func(yield func(readings.HowdahBenchRow, error) bool) {
		for {
			record, err := reader.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var row readings.HowdahBenchRow
			if err == nil {
				row, err = rowOf(record)
			}
			if !yield(row, err) {
				return
			}
		}
	}
	return readings.New(connection).AppendHowdahBench(ctx, rows)
}

// fields reads the fields of a record, until one of them is wrong.
type fields struct{ err error }

// value reads a field; an empty one is nil.
func value[T any](f *fields, field string, parse func(string) (T, error)) *T {
	if field == "" || f.err != nil {
		return nil
	}
	value, err := parse(field)
	f.err = err
	return &value
}

func rowOf(record []string) (readings.HowdahBenchRow, error) {
	if len(record) != 9 {
		return readings.HowdahBenchRow{}, fmt.Errorf("a record of %d fields", len(record))
	}
	f := &fields{}
	row := readings.HowdahBenchRow{
		DeviceID:     value(f, record[0], readings.ParseUUID),
		Timestamp:    value(f, record[1], moment),
		Temperature:  value(f, record[2], float),
		Humidity:     value(f, record[3], float),
		Pressure:     value(f, record[4], numeric),
		BatteryLevel: value(f, record[5], smallint),
		IsAnomaly:    value(f, record[6], strconv.ParseBool),
		Location:     value(f, record[7], text),
		Tags:         value(f, record[8], array),
	}
	return row, f.err
}

func float(field string) (float64, error) { return strconv.ParseFloat(field, 64) }

func numeric(field string) (readings.Numeric, error) { return readings.Numeric(field), nil }

func smallint(field string) (int16, error) {
	number, err := strconv.ParseInt(field, 10, 16)
	return int16(number), err
}

func text(field string) (string, error) { return field, nil }

func array(field string) (readings.Array[string], error) {
	return readings.Array[string]{Elements: texts(field)}, nil
}
