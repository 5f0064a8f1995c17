// This file writes rows by a key: by COPY into a temporary table, then by one statement into their own; all of them or none.

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
)

// upsert is what runs around the COPY of rows into their stage.
type upsert[T any] struct {
	table  *table[T]
	create string
	copy   string
	// place is the stage's column for the places of rows in the input.
	place string
	write string
	drop  string
}

// placed is a row with its place in the input, from 1.
type placed[T any] struct {
	row   T
	place int64
}

// stage gives the table that takes the rows first.
func (u *upsert[T]) stage() *table[placed[T]] {
	return &table[placed[T]]{
		u.copy,
		append(slices.Clone(u.table.columns), u.place),
		append(slices.Clone(u.table.types), int8Codec.typ),
		func(w *writer, v placed[T]) {
			u.table.write(w, v.row)
			put(w, int8Codec, v.place)
		},
	}
}

// inPlaces gives rows with their places.
func inPlaces[T any](rows iter.Seq2[T, error]) iter.Seq2[placed[T], error] {
	return func(yield func(placed[T], error) bool) {
		var place int64
		for row, err := range rows {
			place++
			if !yield(placed[T]{row, place}, err) {
				return
			}
		}
	}
}

// upsertRows writes rows, all of them or none, and gives the number of rows that were changed.
func upsertRows[T any](ctx context.Context, db DBTX, u *upsert[T], rows iter.Seq2[T, error]) (changed int64, err error) {
	err = withConn(ctx, db, func(conn *pgx.Conn) error {
		return atomically(ctx, conn, func() error {
			if _, err := conn.Exec(ctx, u.create); err != nil {
				return err
			}
			if _, err := appendTo(ctx, conn, u.stage(), inPlaces(rows)); err != nil {
				return err
			}
			tag, err := conn.Exec(ctx, u.write)
			if err != nil {
				return err
			}
			changed = tag.RowsAffected()
			_, err = conn.Exec(ctx, u.drop)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// atomically works in a transaction of its own, or below a savepoint of the one that is there: work that fails leaves
// nothing behind.
func atomically(ctx context.Context, conn *pgx.Conn, work func() error) error {
	begin, commit, rollback := "BEGIN", "COMMIT", "ROLLBACK"
	if conn.PgConn().TxStatus() != 'I' {
		begin, commit = "SAVEPOINT howdah", "RELEASE SAVEPOINT howdah"
		rollback = "ROLLBACK TO SAVEPOINT howdah; RELEASE SAVEPOINT howdah"
	}
	if _, err := conn.Exec(ctx, begin); err != nil {
		return err
	}
	done := false
	// A panic of what gives the rows comes here, too.
	defer func() {
		if done {
			return
		}
		// The context may be over, and what was done is not to be committed by whoever goes on.
		ctx := context.WithoutCancel(ctx)
		if _, err := conn.Exec(ctx, rollback); err != nil {
			conn.Close(ctx)
		}
	}()
	if err := work(); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, commit)
	done = err == nil
	return err
}
