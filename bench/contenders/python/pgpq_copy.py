"""Load with pgpq and psycopg: Arrow batches encoded as binary COPY, written to psycopg's COPY."""

import psycopg
from pgpq import ArrowToPostgresBinaryEncoder
from pgpq.encoders import StringEncoderBuilder
from pgpq.schema import Jsonb

import arrow_file
from contract import Task, go, run


def load(task: Task) -> int:
    """Encode documents as jsonb, so that no second table is needed; moments in UTC are timestamptz."""
    with psycopg.connect(task.url) as connection, connection.cursor() as cursor:
        go()
        reader = arrow_file.reader(task)
        encoders = {field.name: ArrowToPostgresBinaryEncoder.infer_encoder(field) for field in reader.schema}
        for name, type_ in task.columns.items():
            if type_ == "jsonb":
                field = reader.schema.field(name)
                encoders[name] = StringEncoderBuilder.new_with_output(field, Jsonb())
        encoder = ArrowToPostgresBinaryEncoder.new_with_encoders(reader.schema, encoders)
        with cursor.copy(f"COPY {task.table} ({task.names}) FROM STDIN (FORMAT binary)") as copy:
            copy.write(encoder.write_header())
            for batch in reader:
                copy.write(encoder.write_batch(batch))
            copy.write(encoder.finish())
        return int(cursor.rowcount)  # leaving the connection commits, or fails


if __name__ == "__main__":
    run(load)
