// This file makes the rows that every language's program makes, as generated code and as hands have them.

package main

import (
	"encoding/binary"
	"math/big"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"generated/sensor"
)

const devices = 100

var (
	places = []string{"Hall A", "Hall B", "Roof", "Cellar", "Yard", "Office 1", "Office 2", "Lab", "Dock", "Gate"}
	tags   = [][]string{
		{}, {"indoor"}, {"outdoor"}, {"indoor", "calibrated"}, {"outdoor", "solar"}, {"test"}, {"indoor", "critical", "v2"},
	}
)

// reading is a row as one writes it by hand for pgx.
type reading struct {
	ID           int64
	DeviceID     [16]byte
	Timestamp    time.Time
	Temperature  *float64
	Humidity     *float64
	Pressure     pgtype.Numeric
	BatteryLevel *int16
	IsAnomaly    *bool
	Location     *string
	Tags         []string
}

// mixed gives 32 bits that look random and are the same in every language.
func mixed(number, stream int) int {
	word := uint32(number + stream*0x9E3779B9)
	word ^= word >> 16
	word *= 0x7FEB352D
	word ^= word >> 15
	word *= 0x846CA68B
	return int(word ^ word>>16)
}

// makeRows makes the same rows for both ways.
func makeRows(count int) ([]sensor.SensorReadingsRow, []reading) {
	var ids [devices][16]byte
	for n := range ids {
		for word := range 4 {
			binary.BigEndian.PutUint32(ids[n][4*word:], uint32(mixed(n, 100+word)))
		}
	}
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	generated, hand := make([]sensor.SensorReadingsRow, count), make([]reading, count)
	for n := range count {
		temperature := 18 + float64(mixed(n, 1)%1_500_000)/100_000
		humidity := 30 + float64(mixed(n, 2)%5_000_000)/100_000
		pressure := 98_000 + mixed(n, 3)%4_000
		battery := int16(20 + mixed(n, 4)%80)
		anomaly := mixed(n, 5)%20 == 0
		place := places[mixed(n, 6)%len(places)]
		mine := tags[mixed(n, 7)%len(tags)]
		moment := start.Add(time.Duration(n) * 10 * time.Second)
		fraction := strconv.Itoa(100 + pressure%100)[1:]
		numeric := sensor.Numeric(strconv.Itoa(pressure/100) + "." + fraction)
		array := sensor.ArrayOf(mine...)
		device := ids[mixed(n, 0)%devices]
		generated[n] = sensor.SensorReadingsRow{
			DeviceID: device, Timestamp: moment, Temperature: &temperature, Humidity: &humidity, Pressure: &numeric,
			BatteryLevel: &battery, IsAnomaly: &anomaly, Location: &place, Tags: &array,
		}
		hand[n] = reading{
			DeviceID: device, Timestamp: moment, Temperature: &temperature, Humidity: &humidity,
			Pressure:     pgtype.Numeric{Int: big.NewInt(int64(pressure)), Exp: -2, Valid: true},
			BatteryLevel: &battery, IsAnomaly: &anomaly, Location: &place, Tags: mine,
		}
	}
	return generated, hand
}

// makeKeys makes keys of rows that are there.
func makeKeys(count, rows int) []int64 {
	keys := make([]int64, count)
	for n := range keys {
		keys[n] = int64(mixed(n, 8)%rows + 1)
	}
	return keys
}
