// This file adds up something of every column, so that no value is left unread.

package main

import (
	"time"

	"generated/sensor"
)

// common is what both ways have in the same types.
func common(id int64, device [16]byte, moment time.Time, temperature, humidity *float64, battery *int16, anomaly *bool, place *string) int64 {
	sum := id + int64(device[0]) + int64(moment.Second()) + int64(*temperature) + int64(*humidity)
	sum += int64(*battery) + int64(len(*place))
	if *anomaly {
		sum++
	}
	return sum
}

func ofOne(r *sensor.ReadingByIDRow) int64 {
	sum := common(r.ID, r.DeviceID, r.Timestamp, r.Temperature, r.Humidity, r.BatteryLevel, r.IsAnomaly, r.Location)
	return sum + int64(len(r.Tags.Elements)) + there(r.Pressure != nil)
}

func ofAll(r *sensor.ReadingsFromRow) int64 {
	sum := common(r.ID, r.DeviceID, r.Timestamp, r.Temperature, r.Humidity, r.BatteryLevel, r.IsAnomaly, r.Location)
	return sum + int64(len(r.Tags.Elements)) + there(r.Pressure != nil)
}

func ofHand(r *reading) int64 {
	sum := common(r.ID, r.DeviceID, r.Timestamp, r.Temperature, r.Humidity, r.BatteryLevel, r.IsAnomaly, r.Location)
	return sum + int64(len(r.Tags)) + there(r.Pressure.Valid)
}

func there(valid bool) int64 {
	if valid {
		return 1
	}
	return 0
}
