import { SQLITE_PACKAGE } from "../src/lib/sqlite/sqlite.ts";

// For setup.sh: prints the package whose native module this Node needs.
process.stdout.write(SQLITE_PACKAGE);
