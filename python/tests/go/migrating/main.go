// Applies migrations, and prints the number of steps or what is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"generated/shop"
)

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("HOWDAH_DSN"))
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	conn, err := pgx.Connect(ctx, os.Getenv("HOWDAH_DSN"))
	if err != nil {
		panic(err)
	}
	defer conn.Close(ctx)
	how := append(os.Args[1:], "")[0]
	switch how {
	case "":
		show(shop.ApplyMigrations(ctx, conn, shop.MigrateOptions{}))
	case "pool":
		show(shop.ApplyMigrations(ctx, pool, shop.MigrateOptions{Project: os.Args[2]}))
		fmt.Println(len(shop.Migrations()), shop.Migrations()[0].ID == os.Args[2])
	case "newer":
		show(shop.ApplyMigrations(ctx, conn, shop.MigrateOptions{AllowNewer: true}))
	case "transaction":
		tx, err := conn.Begin(ctx)
		if err != nil {
			panic(err)
		}
		show(shop.ApplyMigrations(ctx, tx, shop.MigrateOptions{}))
	case "cancelled":
		// Another session has the project's lock, or what a step waits for.
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		show(shop.ApplyMigrations(limited, pool, shop.MigrateOptions{}))
	}
	if how != "transaction" && conn.PgConn().TxStatus() != 'I' {
		fmt.Println("the connection is in a transaction")
	}
}

func show(applied int, err error) {
	if err == nil {
		fmt.Println(applied)
		return
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		fmt.Print(refused.Code, " ")
	}
	var told *shop.MigrationError
	fmt.Println(errors.As(err, &told), strings.ReplaceAll(err.Error(), "\n", " "))
}
