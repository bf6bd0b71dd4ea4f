/*
 * database: builds a database in memory and queries it, compresses and decompresses 20 MB, and prints a
 * digest of every result.  Nothing in it depends on time or addresses.
 *
 * Own prototypes of what is used of libsqlite3 and libz: their shared objects are enough.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open(const char*, sqlite3**);
int sqlite3_close(sqlite3*);
int sqlite3_exec(sqlite3*, const char*, int (*)(void*, int, char**, char**), void*, char**);
int sqlite3_prepare_v2(sqlite3*, const char*, int, sqlite3_stmt**, const char**);
int sqlite3_bind_int64(sqlite3_stmt*, int, int64_t);
int sqlite3_bind_double(sqlite3_stmt*, int, double);
int sqlite3_bind_text(sqlite3_stmt*, int, const char*, int, void (*)(void*));
int sqlite3_step(sqlite3_stmt*);
int sqlite3_reset(sqlite3_stmt*);
int sqlite3_finalize(sqlite3_stmt*);
const unsigned char* sqlite3_column_text(sqlite3_stmt*, int);
int sqlite3_column_count(sqlite3_stmt*);

unsigned long compressBound(unsigned long);
int compress2(unsigned char*, unsigned long*, const unsigned char*, unsigned long, int);
int uncompress(unsigned char*, unsigned long*, const unsigned char*, unsigned long);
unsigned long crc32(unsigned long, const unsigned char*, unsigned);
unsigned long adler32(unsigned long, const unsigned char*, unsigned);
void* gzopen(const char*, const char*);
int gzwrite(void*, const void*, unsigned);
int gzread(void*, void*, unsigned);
int gzclose(void*);

enum { ROW = 100, DONE = 101, BYTES = 20 << 20, ROWS = 3000 };

static uint64_t digest = 14695981039346656037u;

static void digest_add(const void* data, size_t length) {
  const unsigned char* bytes = data;
  for (size_t i = 0; i < length; i++) digest = (digest ^ bytes[i]) * 1099511628211u;
}

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "database: %s failed\n", what);
  exit(1);
}

static uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

static void query(sqlite3* db, const char* sql) {
  sqlite3_stmt* s;
  check(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == 0, sql);
  int rows = 0;
  for (; sqlite3_step(s) == ROW; rows++)
    for (int i = 0; i < sqlite3_column_count(s); i++) {
      const char* text = (const char*)sqlite3_column_text(s, i);
      digest_add(text ? text : "NULL", text ? strlen(text) + 1 : 5);
    }
  check(sqlite3_finalize(s) == 0, sql);
  printf("%d rows, digest %016llx: %s\n", rows, (unsigned long long)digest, sql);
}

static void fill(sqlite3* db) {
  uint64_t state = 88172645463325252u;
  sqlite3_stmt* s;
  check(sqlite3_exec(db,
                     "create table item(id integer primary key, name text, size int, weight real);"
                     "create index by_size on item(size); begin",
                     NULL, NULL, NULL) == 0,
        "create");
  check(sqlite3_prepare_v2(db, "insert into item(name, size, weight) values(?, ?, ?)", -1, &s, NULL) == 0, "prepare");
  for (int i = 0; i < ROWS; i++) {
    char name[32];
    int length = snprintf(name, sizeof name, "item %llu", (unsigned long long)(next_random(&state) % 100000));
    check(sqlite3_bind_text(s, 1, name, length, (void (*)(void*)) - 1) == 0, "bind");
    check(sqlite3_bind_int64(s, 2, (int64_t)(next_random(&state) % 1000)) == 0, "bind");
    check(sqlite3_bind_double(s, 3, (double)(next_random(&state) % 1000) / 8) == 0, "bind");
    check(sqlite3_step(s) == DONE && sqlite3_reset(s) == 0, "insert");
  }
  check(sqlite3_finalize(s) == 0 && sqlite3_exec(db, "commit", NULL, NULL, NULL) == 0, "commit");
}

static void use_sqlite(void) {
  sqlite3* db;
  check(sqlite3_open(":memory:", &db) == 0, "open");
  fill(db);
  query(db, "select count(*), sum(size), avg(weight), min(name), max(name) from item");
  query(db, "select size, count(*), group_concat(name) from item where size < 50 group by size order by 2 desc, 1");
  query(db, "select a.name, b.name from item a join item b on a.size = b.size and a.id < b.id where a.size % 97 = 5");
  query(db,
        "select upper(name), length(name), round(weight, 1), printf('%08.3f', weight) from item where id % 101 = 0");
  check(sqlite3_exec(db,
                     "update item set name = name || '!' where size > 900; delete from item where size < 100;"
                     "vacuum",
                     NULL, NULL, NULL) == 0,
        "update");
  query(db, "select * from item where name like '%7!' order by name, id");
  query(db, "with recursive n(x) as (select 1 union all select x + 1 from n where x < 1000) select sum(x) from n");
  query(db, "pragma integrity_check");
  check(sqlite3_close(db) == 0, "close");
}

static unsigned char* make_data(void) {
  unsigned char* data = malloc(BYTES);
  uint64_t state = 1234567;
  check(data != NULL, "malloc");
  for (size_t i = 0; i < BYTES;) {
    uint64_t r = next_random(&state);
    size_t run = 1 + (r & 63);
    for (; run && i < BYTES; run--, i++)
      data[i] = (unsigned char)(i > 4096 && r & 64 ? data[i - 1 - (r >> 52)] : r >> 8);
  }
  return data;
}

static void use_libz(const char* file) {
  unsigned char* data = make_data();
  unsigned long bound = compressBound(BYTES), packed = bound, unpacked = BYTES;
  unsigned char *to = malloc(bound), *again = malloc(BYTES);
  check(to && again, "malloc");
  check(compress2(to, &packed, data, BYTES, 1) == 0, "compress");
  check(uncompress(again, &unpacked, to, packed) == 0 && unpacked == BYTES, "uncompress");
  check(memcmp(data, again, BYTES) == 0, "comparing");
  digest_add(to, packed);
  printf("libz %d -> %lu crc %08lx adler %08lx digest %016llx\n", BYTES, packed, crc32(0, again, BYTES),
         adler32(1, again, BYTES), (unsigned long long)digest);
  void* gz = gzopen(file, "wb1");
  check(gz != NULL, "gzopen");
  for (size_t i = 0; i < BYTES / 8; i += 4096) check(gzwrite(gz, data + i, 4096) == 4096, "gzwrite");
  check(gzclose(gz) == 0, "gzclose");
  gz = gzopen(file, "rb");
  memset(again, 0, BYTES);
  size_t got = 0;
  for (int n; (n = gzread(gz, again + got, 10000)) > 0;) got += (size_t)n;
  check(gzclose(gz) == 0 && got == BYTES / 8 && memcmp(data, again, got) == 0, "gzread");
  printf("gz %zu digest %016llx\n", got, (unsigned long long)digest);
  free(to);
  free(again);
  free(data);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  use_sqlite();
  use_libz(argv[1]);
  return 0;
}
