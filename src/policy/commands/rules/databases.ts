import type { Match } from "../command-classes.ts";
import { findSqlLoss } from "../sql.ts";
import type { ClassRule } from "./class-rule.ts";

const SQL_CLIENTS =
  /^(?:psql|pgcli|mysql|mariadb|mycli|sqlite3?|litecli|duckdb|clickhouse(?:-client)?|cockroach|sqlcmd|isql|usql|cqlsh|sqlplus|bq|wrangler|turso|prisma)$/;
const MONGO_LOSS =
  /\.(?:dropdatabase|drop|dropindexes|remove|deletemany)\s*\(\s*(?:\{\s*\}|\))|\.dropdatabase\(/i;
const MAX_LINE_LENGTH = 1_000;
/** Framework tasks that drop or empty a database, each with the program that runs it. */
const RESET_TASKS: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:rails|rake|bundle)$/, /\bdb:(?:drop|reset|purge|truncate_all|schema:load|migrate:reset)\b/],
  [
    /^(?:prisma|npx|pnpm|yarn|bunx)$/,
    /\bprisma (?:migrate reset|db push .*--(?:force-reset|accept-data-loss))|^migrate reset\b/,
  ],
  [/^(?:python[\d.]*|django-admin|manage\.py)$/, /(?:^|manage\.py )(?:flush|reset_db|sqlflush)\b/],
  [/^(?:php|artisan)$/, /\b(?:migrate:(?:fresh|reset|refresh)|db:wipe)\b/],
  [/^(?:alembic|flask)$/, /\bdowngrade base\b/],
  [/^(?:supabase)$/, /^db reset\b/],
  [/^(?:dropdb|dropuser)$/, /^(?!--help|--version)./],
  [/^mysqladmin$/, /\bdrop\b/],
  [/^(?:mix)$/, /^ecto\.(?:drop|reset)\b/],
];

/** Commands that drop or empty databases. */
export const checkDatabases: ClassRule = ({ name, args, texts, input }) => {
  if (SQL_CLIENTS.test(name)) {
    for (const text of [...texts, ...input]) {
      const loss = findSqlLoss(text.replace(/^--?[a-z]+=/, "")) ?? findSqlLoss(text.replace(/^-[ceqQ]/, ""));
      if (loss) return destroys(`${loss} of a database`);
    }
    return undefined;
  }
  if (/^(?:mongo|mongosh)$/.test(name) && [...args, ...input].some((text) => MONGO_LOSS.test(text)))
    return destroys("drops or empties a database");
  if (name === "redis-cli" && [...args, ...input].some((word) => /^\s*(?:flushall|flushdb)\b/i.test(word)))
    return destroys("empties a Redis database");
  if (name === "pg_restore" && args.some((word) => /^(?:-c|--clean)$/.test(word)))
    return destroys("drops what is in a database before it restores");
  const tasks = RESET_TASKS.filter(([program]) => program.test(name));
  if (tasks.length === 0) return undefined;
  const line = args.slice(0, 12).join(" ").slice(0, MAX_LINE_LENGTH);
  return tasks.some(([, task]) => task.test(line)) ? destroys("drops or empties a database") : undefined;
};

function destroys(effect: string): Match {
  return { class: "database-destruction", effect };
}
