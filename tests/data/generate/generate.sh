#!/usr/bin/env bash
# Writes tests/data/warehouse and tests/data/expected anew with the Java reference. Needs Java 17 and Maven.
# generate.sh [DB.TABLE…]: only these tables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=target/classpath
exec java -Duser.timezone=UTC -Xmx1g -cp "target/classes:$(cat target/classpath)" golden.Generate .. "$@"
