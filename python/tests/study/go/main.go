// Writes the study's rows three ways by generated code, and prints after each what its queries give.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"generated/queries"
)

const count = 1000

func ref[T any](value T) *T { return &value }

var (
	begin        = time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)
	temperatures = []*float64{nil, ref(math.Copysign(0, -1)), ref(math.Inf(1)), ref(5e-324)}
	anomalies    = []*bool{ref(true), ref(false), nil}
	places       = []*string{
		ref("Halle 3"), ref(""), ref("a\tb\\c\n"), ref("Köln ☃ 𝄞"), ref(`"quoted", {braces}`), ref("NULL"), nil,
	}
	tags = []*queries.Array[string]{
		ref(queries.ArrayOf[string]()),
		ref(queries.ArrayOf("indoor")),
		{Elements: []*string{ref("indoor"), nil, ref("")}},
		ref(queries.ArrayOf("NULL", "a b", "c,d")),
		ref(queries.ArrayOf(`x"y`, `\`)),
		nil,
	}
	literals = []*string{
		ref("{}"), ref("{indoor}"), ref(`{indoor,NULL,""}`), ref(`{"NULL","a b","c,d"}`), ref(`{"x\"y","\\"}`), nil,
	}
)

// unless gives a value, or nil where a number can be divided by another.
func unless[T any](i, by int, value T) *T {
	if i%by == 0 {
		return nil
	}
	return &value
}

func row(i int) (queries.SensorReadingsRow, error) {
	device, err := queries.ParseUUID(fmt.Sprintf("00000000-0000-4000-8000-%012x", i*7919%100))
	temperature := ref(float64(i*37)/7 - 100)
	if i%11 < len(temperatures) {
		temperature = temperatures[i%11]
	}
	pressure := fmt.Sprintf("%.2f", float64(i*7919%2000001-1000000)/100)
	return queries.SensorReadingsRow{
		DeviceID:     device,
		Timestamp:    begin.Add(time.Duration(i) * 10007 * time.Millisecond),
		Temperature:  temperature,
		Humidity:     unless(i, 13, float64(i*53%1000)/8),
		Pressure:     unless(i, 17, queries.Numeric(pressure)),
		BatteryLevel: unless(i, 19, int16(i%200-100)),
		IsAnomaly:    anomalies[i%3],
		Location:     places[i%7],
		Tags:         tags[i%6],
	}, err
}

func made() ([]queries.SensorReadingsRow, error) {
	rows := make([]queries.SensorReadingsRow, count)
	for i := range rows {
		var err error
		if rows[i], err = row(i); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func appended(ctx context.Context, q *queries.Queries, rows []queries.SensorReadingsRow) (int64, error) {
	return q.AppendSensorReadings(ctx, queries.Rows(rows))
}

func inserted(ctx context.Context, q *queries.Queries, rows []queries.SensorReadingsRow) (int64, error) {
	var written int64
	for _, r := range rows {
		changed, err := q.InsertReading(ctx, queries.InsertReadingParams(r))
		if err != nil {
			return 0, err
		}
		written += changed
	}
	return written, nil
}

func unnested(ctx context.Context, q *queries.Queries, rows []queries.SensorReadingsRow) (int64, error) {
	var arg queries.InsertReadingsUnnestParams
	for i, r := range rows {
		arg.DeviceIds.Elements = append(arg.DeviceIds.Elements, ref(r.DeviceID))
		arg.Timestamps.Elements = append(arg.Timestamps.Elements, ref(r.Timestamp))
		arg.Temperatures.Elements = append(arg.Temperatures.Elements, r.Temperature)
		arg.Humidities.Elements = append(arg.Humidities.Elements, r.Humidity)
		arg.Pressures.Elements = append(arg.Pressures.Elements, r.Pressure)
		arg.BatteryLevels.Elements = append(arg.BatteryLevels.Elements, r.BatteryLevel)
		arg.Anomalies.Elements = append(arg.Anomalies.Elements, r.IsAnomaly)
		arg.Locations.Elements = append(arg.Locations.Elements, r.Location)
		arg.TagLiterals.Elements = append(arg.TagLiterals.Elements, literals[i%6])
	}
	return q.InsertReadingsUnnest(ctx, arg)
}

func verify(ctx context.Context, q *queries.Queries, written int64) error {
	rows, err := q.CountReadings(ctx)
	if err != nil {
		return err
	}
	sums, err := q.Sums(ctx)
	if err != nil {
		return err
	}
	one, err := q.ReadingByID(ctx, rows-499)
	if err != nil {
		return err
	}
	newest, err := q.LastReadings(ctx)
	if err != nil {
		return err
	}
	fmt.Println(written, rows, *sums.Batteries, *sums.Pressure, sums.Anomalies, one.DeviceID, *one.Pressure,
		len(one.Tags.Elements), len(newest), newest[0].Timestamp.Sub(begin).Milliseconds())
	return nil
}

func run(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, os.Getenv("HOWDAH_DSN"))
	if err != nil {
		return err
	}
	defer pool.Close()
	steps, err := queries.ApplyMigrations(ctx, pool, queries.MigrateOptions{})
	if err != nil {
		return err
	}
	fmt.Println(steps)
	rows, err := made()
	if err != nil {
		return err
	}
	ways := []func(context.Context, *queries.Queries, []queries.SensorReadingsRow) (int64, error){
		appended, inserted, unnested,
	}
	for _, write := range ways {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			q := queries.New(tx)
			written, err := write(ctx, q, rows)
			if err != nil {
				return err
			}
			return verify(ctx, q, written)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
