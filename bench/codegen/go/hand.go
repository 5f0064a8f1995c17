// This file appends and reads as one writes it by hand with pgx.

package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

var columns = []string{
	"device_id", "timestamp", "temperature", "humidity", "pressure", "battery_level", "is_anomaly", "location", "tags",
}

const (
	oneSQL = `SELECT id, device_id, timestamp, temperature, humidity, pressure, battery_level, is_anomaly, location, tags
FROM sensor_readings WHERE id = $1`
	allSQL = `SELECT id, device_id, timestamp, temperature, humidity, pressure, battery_level, is_anomaly, location, tags
FROM sensor_readings WHERE id >= $1 ORDER BY id LIMIT $2`
)

func handAppend(ctx context.Context, tx pgx.Tx, rows []reading) (int64, error) {
	values := make([]any, len(columns))
	source := pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		r := &rows[i]
		// pgx has encoded them before it asks for the next ones.
		values[0], values[1], values[2], values[3], values[4] = r.DeviceID, r.Timestamp, r.Temperature, r.Humidity, r.Pressure
		values[5], values[6], values[7], values[8] = r.BatteryLevel, r.IsAnomaly, r.Location, r.Tags
		return values, nil
	})
	return tx.CopyFrom(ctx, pgx.Identifier{"sensor_readings"}, columns, source)
}

// places gives where the columns of a row go.
func (r *reading) places() []any {
	return []any{
		&r.ID, &r.DeviceID, &r.Timestamp, &r.Temperature, &r.Humidity, &r.Pressure, &r.BatteryLevel, &r.IsAnomaly,
		&r.Location, &r.Tags,
	}
}

func handOne(ctx context.Context, conn *pgx.Conn, id int64) (r reading, err error) {
	err = conn.QueryRow(ctx, oneSQL, id).Scan(r.places()...)
	return r, err
}

func handAll(ctx context.Context, conn *pgx.Conn, id, count int64) ([]reading, error) {
	rows, err := conn.Query(ctx, allSQL, id, count)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []reading
	for rows.Next() {
		var r reading
		if err := rows.Scan(r.places()...); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
