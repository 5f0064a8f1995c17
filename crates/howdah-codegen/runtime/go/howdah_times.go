// This file reads and writes dates, times and intervals.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// epoch is where PostgreSQL counts from, 2000-01-01, in seconds of Unix.
	epoch        = 946684800
	day          = 24 * 60 * 60
	firstDay     = -2451545
	lastDay      = 2145031948
	firstSecond  = -211813488000
	behindSecond = 9223371331200
	// widestZone is what no zone is away from UTC.
	widestZone = 16 * time.Hour
)

var (
	errInfinity = errors.New("infinity, which time.Time cannot hold")
	errRange    = errors.New("a time that PostgreSQL does not have")
	errFine     = errors.New("a time finer than a microsecond: Truncate(time.Microsecond) cuts it")
	errZone     = errors.New("a time that is not in UTC, for a type without a zone")
)

func decodeDate(source []byte) (time.Time, error) {
	days, err := decodeInt4(source)
	if err == nil && (days == math.MaxInt32 || days == math.MinInt32) {
		err = errInfinity
	}
	return time.Unix(epoch+int64(days)*day, 0).UTC(), err
}

// date checks a date, and gives its days.
func date(value time.Time) (int32, error) {
	if value.Location() != time.UTC {
		return 0, errZone
	}
	if value.Year() < -4713 || value.Year() > 5874897 {
		return 0, errRange
	}
	seconds := value.Unix() - epoch
	if value.Nanosecond() != 0 || seconds%day != 0 {
		return 0, errors.New("a date with a time of day")
	}
	days := seconds / day
	if days < firstDay || days > lastDay {
		return 0, errRange
	}
	return int32(days), nil
}

func encodeDate(out []byte, value time.Time, known oids) ([]byte, error) {
	days, err := date(value)
	if err != nil {
		return out, err
	}
	return encodeInt4(out, days, known)
}

func literalDate(out []byte, value time.Time) ([]byte, error) {
	if _, err := date(value); err != nil {
		return out, err
	}
	year, era := calendarYear(value)
	return fmt.Appendf(out, "%04d-%02d-%02d%s", year, value.Month(), value.Day(), era), nil
}

// calendarYear counts years before the first as people do.
func calendarYear(value time.Time) (int, string) {
	if value.Year() <= 0 {
		return 1 - value.Year(), " BC"
	}
	return value.Year(), ""
}

func decodeTimestamp(source []byte) (time.Time, error) {
	micros, err := decodeInt8(source)
	if err == nil && (micros == math.MaxInt64 || micros == math.MinInt64) {
		err = errInfinity
	}
	// From there on time.Unix counts by itself, and nothing overflows.
	seconds, rest := micros/1_000_000, micros%1_000_000
	return time.Unix(epoch+seconds, rest*1000).UTC(), err
}

// instant checks a time, and gives its microseconds.
func instant(value time.Time) (int64, error) {
	if value.Year() < -4713 || value.Year() > 294276 {
		return 0, errRange
	}
	if value.Nanosecond()%1000 != 0 {
		return 0, errFine
	}
	seconds := value.Unix() - epoch
	if seconds < firstSecond || seconds >= behindSecond {
		return 0, errRange
	}
	return seconds*1_000_000 + int64(value.Nanosecond()/1000), nil
}

func encodeTimestamptz(out []byte, value time.Time, known oids) ([]byte, error) {
	micros, err := instant(value)
	if err != nil {
		return out, err
	}
	return encodeInt8(out, micros, known)
}

func encodeTimestamp(out []byte, value time.Time, known oids) ([]byte, error) {
	if value.Location() != time.UTC {
		return out, errZone
	}
	return encodeTimestamptz(out, value, known)
}

func literalTimestamp(out []byte, value time.Time) ([]byte, error) {
	if value.Location() != time.UTC {
		return out, errZone
	}
	if _, err := instant(value); err != nil {
		return out, err
	}
	year, era := calendarYear(value)
	out = fmt.Appendf(out, "%04d-%02d-%02d ", year, value.Month(), value.Day())
	return append(value.AppendFormat(out, "15:04:05.000000"), era...), nil
}

func literalTimestamptz(out []byte, value time.Time) ([]byte, error) {
	if _, err := instant(value); err != nil {
		return out, err
	}
	value = value.UTC()
	year, era := calendarYear(value)
	out = fmt.Appendf(out, "%04d-%02d-%02d ", year, value.Month(), value.Day())
	return append(value.AppendFormat(out, "15:04:05.000000+00"), era...), nil
}

func decodeTime(source []byte) (time.Duration, error) {
	micros, err := decodeInt8(source)
	if err == nil && (micros < 0 || micros > day*1_000_000) {
		err = errRange
	}
	return time.Duration(micros) * time.Microsecond, err
}

// clock checks a time of day.
func clock(value time.Duration) error {
	if value < 0 || value > 24*time.Hour {
		return errors.New("a time of day before 0 or behind 24 hours")
	}
	if value%time.Microsecond != 0 {
		return errFine
	}
	return nil
}

func encodeTime(out []byte, value time.Duration, known oids) ([]byte, error) {
	if err := clock(value); err != nil {
		return out, err
	}
	return encodeInt8(out, value.Microseconds(), known)
}

func literalTime(out []byte, value time.Duration) ([]byte, error) {
	if err := clock(value); err != nil {
		return out, err
	}
	seconds := int64(value / time.Second)
	micros := (value % time.Second).Microseconds()
	return fmt.Appendf(out, "%02d:%02d:%02d.%06d", seconds/3600, seconds/60%60, seconds%60, micros), nil
}

func decodeTimeTZ(source []byte) (TimeTZ, error) {
	if err := sized(source, 12); err != nil {
		return TimeTZ{}, err
	}
	value, err := decodeTime(source[:8])
	west := int32(binary.BigEndian.Uint32(source[8:]))
	return TimeTZ{value, -time.Duration(west) * time.Second}, err
}

// zone checks a zone, and gives its seconds ahead of UTC.
func zone(value TimeTZ) (int32, error) {
	if value.Offset%time.Second != 0 || value.Offset <= -widestZone || value.Offset >= widestZone {
		return 0, fmt.Errorf("a zone of %v", value.Offset)
	}
	return int32(value.Offset / time.Second), nil
}

func encodeTimeTZ(out []byte, value TimeTZ, known oids) ([]byte, error) {
	seconds, err := zone(value)
	if err != nil {
		return out, err
	}
	if out, err = encodeTime(out, value.Time, known); err != nil {
		return out, err
	}
	return encodeInt4(out, -seconds, known)
}

func literalTimeTZ(out []byte, value TimeTZ) ([]byte, error) {
	seconds, err := zone(value)
	if err != nil {
		return out, err
	}
	if out, err = literalTime(out, value.Time); err != nil {
		return out, err
	}
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return fmt.Appendf(out, "%c%02d:%02d:%02d", sign, seconds/3600, seconds/60%60, seconds%60), nil
}

func decodeInterval(source []byte) (Interval, error) {
	if err := sized(source, 16); err != nil {
		return Interval{}, err
	}
	field := func(at int) int32 { return int32(binary.BigEndian.Uint32(source[at:])) }
	return Interval{field(12), field(8), int64(binary.BigEndian.Uint64(source))}, nil
}

func encodeInterval(out []byte, value Interval, known oids) ([]byte, error) {
	out = binary.BigEndian.AppendUint64(out, uint64(value.Microseconds))
	out = binary.BigEndian.AppendUint32(out, uint32(value.Days))
	return binary.BigEndian.AppendUint32(out, uint32(value.Months)), nil
}

func literalInterval(out []byte, value Interval) ([]byte, error) {
	switch value {
	case Interval{math.MaxInt32, math.MaxInt32, math.MaxInt64}:
		return append(out, "infinity"...), nil
	case Interval{math.MinInt32, math.MinInt32, math.MinInt64}:
		return append(out, "-infinity"...), nil
	}
	// A sign before each keeps IntervalStyle sql_standard from giving the first one's to all.
	return fmt.Appendf(out, "%+d mons %+d days %+d microseconds", value.Months, value.Days, value.Microseconds), nil
}
