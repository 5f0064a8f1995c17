// This file reads and writes numeric, which no type of Go holds with its scale.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

const (
	numericNegative    = 0x4000
	numericNaN         = 0xC000
	numericInfinity    = 0xD000
	numericNegInfinity = 0xF000
	// numericWhole and numericFraction are the digits that a numeric has at the most.
	numericWhole    = 131072
	numericFraction = 16383
)

func decodeNumeric(source []byte) (Numeric, error) {
	if len(source) < 8 {
		return "", fmt.Errorf("a numeric of %d bytes", len(source))
	}
	groups := source[8:]
	count, weight := int(binary.BigEndian.Uint16(source)), int(int16(binary.BigEndian.Uint16(source[2:])))
	if len(groups) != 2*count {
		return "", fmt.Errorf("a numeric of %d groups in %d bytes", count, len(groups))
	}
	sign, scale := binary.BigEndian.Uint16(source[4:]), int(binary.BigEndian.Uint16(source[6:]))
	text := make([]byte, 0, 4*max(weight+1, 1)+scale+6)
	switch sign {
	case numericNaN:
		return "NaN", nil
	case numericInfinity:
		return "Infinity", nil
	case numericNegInfinity:
		return "-Infinity", nil
	case numericNegative:
		text = append(text, '-')
	}
	group := func(place int) {
		digits := uint16(0)
		if place >= 0 && place < count {
			digits = binary.BigEndian.Uint16(groups[2*place:])
		}
		text = append(text, byte('0'+digits/1000%10), byte('0'+digits/100%10), byte('0'+digits/10%10), byte('0'+digits%10))
	}
	start := len(text)
	for place := 0; place <= weight; place++ {
		group(place)
	}
	whole := bytes.TrimLeft(text[start:], "0")
	if len(whole) == 0 {
		whole = []byte("0")
	}
	text = append(text[:start], whole...)
	if scale > 0 {
		text = append(text, '.')
		end := len(text) + scale
		for place := weight + 1; len(text) < end; place++ {
			group(place)
		}
		text = text[:end]
	}
	return Numeric(text), nil
}

// decimal takes the text of a number apart.
func decimal(value Numeric) (negative bool, whole, fraction string, err error) {
	text, negative := strings.CutPrefix(string(value), "-")
	whole, fraction, point := strings.Cut(text, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" || point && fraction == "" {
		return false, "", "", fmt.Errorf("%.50q is no numeric", string(value))
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > numericWhole || len(fraction) > numericFraction {
		return false, "", "", errors.New("a numeric with too many digits")
	}
	return negative, whole, fraction, nil
}

func special(value Numeric) (uint16, bool) {
	switch value {
	case "NaN":
		return numericNaN, true
	case "Infinity":
		return numericInfinity, true
	case "-Infinity":
		return numericNegInfinity, true
	}
	return 0, false
}

func encodeNumeric(out []byte, value Numeric, _ oids) ([]byte, error) {
	if sign, ok := special(value); ok {
		out = append(out, 0, 0, 0, 0)
		return append(binary.BigEndian.AppendUint16(out, sign), 0, 0), nil
	}
	negative, whole, fraction, err := decimal(value)
	if err != nil {
		return out, err
	}
	scale := len(fraction)
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	digits := whole + fraction + strings.Repeat("0", (4-scale%4)%4)
	weight := len(whole)/4 - 1
	for strings.HasPrefix(digits, "0000") {
		digits = digits[4:]
		weight--
	}
	for strings.HasSuffix(digits, "0000") {
		digits = digits[:len(digits)-4]
	}
	var sign uint16
	if digits == "" {
		weight = 0
	} else if negative {
		sign = numericNegative
	}
	for _, field := range []uint16{uint16(len(digits) / 4), uint16(int16(weight)), sign, uint16(scale)} {
		out = binary.BigEndian.AppendUint16(out, field)
	}
	for ; digits != ""; digits = digits[4:] {
		group := uint16(0)
		for _, digit := range []byte(digits[:4]) {
			group = group*10 + uint16(digit-'0')
		}
		out = binary.BigEndian.AppendUint16(out, group)
	}
	return out, nil
}

func literalNumeric(out []byte, value Numeric) ([]byte, error) {
	if _, ok := special(value); !ok {
		if _, _, _, err := decimal(value); err != nil {
			return out, err
		}
	}
	return append(out, value...), nil
}
