# The usual commands; `just` lists them.

default:
    @just --list

# All tests; `just test name` those whose names contain it
test *args:
    cargo test --features cli {{args}}

# What must pass before a change goes in
ci:
    .ci/run

# Format and lint
lint:
    cargo fmt
    cargo clippy --all-targets --features cli -- -D warnings

# A SQL shell over the golden tables
sql *args:
    cargo run --features cli -- --warehouse tests/data/warehouse {{args}}

# The SQL tests, or those files whose names contain the text
slt only="":
    SLT_ONLY={{only}} cargo test --features cli --test sql

# Write the answers that come out into the SQL tests
slt-complete only="":
    SLT_COMPLETE=1 SLT_ONLY={{only}} cargo test --features cli --test sql

# Write the golden tables anew (Java 17, Maven); `just golden types.variant` just these
golden *tables:
    tests/data/generate/generate.sh {{tables}}
