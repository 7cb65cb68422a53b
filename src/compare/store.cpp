// The file: an SQLite database with our application_id, and the layout's version as user_version. One row of `comparison` for each
// call, of `series` for each lock and metric in it, of `run` for each value.
#include "compare/store.hpp"

#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "compare/git_commit.hpp"
#include "sim/data_files.hpp"

#ifdef HOLDFAST_HAVE_SQLITE
#include <sqlite3.h>
#endif

namespace holdfast::compare {

namespace fs = std::filesystem;

circumstances here_and_now(const std::string& label) {
    utsname names{};
    uname(&names);
    std::error_code ignored;
    return {.time = std::time(nullptr),
            .commit = git_commit(fs::current_path(ignored)),
            .label = label,
            .host = names.nodename,
            .kernel = names.release};
}

#ifdef HOLDFAST_HAVE_SQLITE

namespace {

constexpr int our_application = 0x486c6466; // "Hldf"
constexpr int our_version = 1;

constexpr const char* layout = R"(
CREATE TABLE comparison (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, command TEXT NOT NULL, git_commit TEXT NOT NULL,
                         label TEXT NOT NULL, host TEXT NOT NULL, kernel TEXT NOT NULL, cpus INTEGER NOT NULL,
                         foreign_cpus REAL NOT NULL);
CREATE TABLE series (id INTEGER PRIMARY KEY, comparison INTEGER NOT NULL REFERENCES comparison, lock TEXT NOT NULL,
                     metric TEXT NOT NULL, unit TEXT NOT NULL, higher_is_better INTEGER NOT NULL, printed INTEGER NOT NULL);
CREATE TABLE run (series INTEGER NOT NULL REFERENCES series, number INTEGER NOT NULL, value REAL NOT NULL,
                  PRIMARY KEY (series, number)) WITHOUT ROWID;
)";

class database {
public:
    database(const std::string& file, int flags) : file_(file) {
        sqlite3* opened = nullptr;
        const int result = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
        handle_.reset(opened);
        check(result);
        sqlite3_busy_timeout(opened, 10'000); // another comparison may be writing
    }

    void execute(const std::string& sql) {
        check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
    }

    void check(int result) const {
        if (result == SQLITE_NOTADB)
            refuse("not a file of holdfast compare --store");
        if (result == SQLITE_CORRUPT)
            refuse("damaged or cut off; take a copy of it, or another file");
        if (result != SQLITE_OK && result != SQLITE_ROW && result != SQLITE_DONE)
            refuse(handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(result));
    }

    [[noreturn]] void refuse(std::string_view why) const {
        throw std::runtime_error(fmt::format("{}: {}", printable(file_), why));
    }

    [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

private:
    struct closer {
        void operator()(sqlite3* db) const { sqlite3_close(db); }
    };
    std::string file_;
    std::unique_ptr<sqlite3, closer> handle_;
};

class statement {
public:
    statement(const database& on, const char* sql) : on_(on) {
        sqlite3_stmt* made = nullptr;
        on.check(sqlite3_prepare_v2(on.handle(), sql, -1, &made, nullptr));
        handle_.reset(made);
    }

    // The next parameter.
    statement& with(const std::string& text) {
        on_.check(sqlite3_bind_text(handle_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                                    SQLITE_TRANSIENT));
        return *this;
    }
    statement& with(double value) {
        on_.check(sqlite3_bind_double(handle_.get(), ++bound_, value));
        return *this;
    }
    statement& with(std::int64_t value) {
        on_.check(sqlite3_bind_int64(handle_.get(), ++bound_, value));
        return *this;
    }

    // Whether there is a row, or another one.
    bool step() {
        const int result = sqlite3_step(handle_.get());
        on_.check(result);
        return result == SQLITE_ROW;
    }

    [[nodiscard]] std::string text(int column) const {
        const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
        return bytes == nullptr ? "" : bytes;
    }
    [[nodiscard]] std::int64_t integer(int column) const {
        return sqlite3_column_int64(handle_.get(), column);
    }
    [[nodiscard]] double real(int column) const { return sqlite3_column_double(handle_.get(), column); }

private:
    struct closer {
        void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
    };
    const database& on_;
    std::unique_ptr<sqlite3_stmt, closer> handle_;
    int bound_ = 0;
};

std::int64_t number(const database& on, const char* sql) {
    statement s(on, sql);
    return s.step() ? s.integer(0) : 0;
}

// Whether nothing is in it yet. SQLite itself would take a file of one byte for empty, too.
bool is_empty(const std::string& file) {
    return fs::file_size(file) == 0;
}

// Refuses what isn't ours, or not whole.
void check_ours(const database& db) {
    if (number(db, "PRAGMA application_id") != our_application)
        db.refuse("not a file of holdfast compare --store");
    if (const std::int64_t version = number(db, "PRAGMA user_version"); version != our_version)
        db.refuse(fmt::format(
            "of version {}, this holdfast has version {}; take the holdfast that wrote it, or another file",
            version, our_version));
    statement whole(db, "PRAGMA quick_check(1)");
    if (!whole.step() || whole.text(0) != "ok")
        db.check(SQLITE_CORRUPT);
}

std::int64_t add(const database& db, statement& s) {
    s.step();
    return sqlite3_last_insert_rowid(db.handle());
}

} // namespace

void check_store(const std::string& file) {
    std::error_code ignored;
    if (!fs::exists(file, ignored))
        return;
    const database db(file, SQLITE_OPEN_READWRITE);
    if (!is_empty(file))
        check_ours(db);
}

void append(const std::string& file, const experiment& e, const circumstances& c) {
    database db(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    // What is not committed is rolled back when the file is closed.
    db.execute("BEGIN IMMEDIATE");
    if (is_empty(file))
        db.execute(fmt::format("{} PRAGMA application_id = {}; PRAGMA user_version = {};", layout,
                               our_application, our_version));
    check_ours(db);
    statement comparison(
        db, "INSERT INTO comparison (time, command, git_commit, label, host, kernel, cpus, foreign_cpus) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    comparison.with(c.time).with(e.command).with(c.commit).with(c.label).with(c.host).with(c.kernel);
    comparison.with(static_cast<std::int64_t>(e.cpus)).with(e.foreign_cpus);
    const std::int64_t id = add(db, comparison);
    for (const variant& v : e.variants) {
        for (std::size_t m = 0; m < e.metrics.size(); ++m) {
            const metric& what = e.metrics[m];
            statement series(db,
                             "INSERT INTO series (comparison, lock, metric, unit, higher_is_better, printed) "
                             "VALUES (?, ?, ?, ?, ?, ?)");
            series.with(id).with(v.lock).with(what.name).with(what.unit);
            series.with(std::int64_t{what.higher_is_better}).with(std::int64_t{what.printed});
            const std::int64_t series_id = add(db, series);
            std::int64_t run = 0;
            for (const double value : v.values[m]) {
                statement row(db, "INSERT INTO run (series, number, value) VALUES (?, ?, ?)");
                row.with(series_id).with(++run).with(value).step();
            }
        }
    }
    db.execute("COMMIT");
}

std::vector<stored_series> read_store(const std::string& file, const std::string& command) {
    std::error_code ignored;
    if (!fs::exists(file, ignored))
        throw std::runtime_error(
            fmt::format("{}: no such file; holdfast compare --store makes it", printable(file)));
    const database db(file, SQLITE_OPEN_READONLY);
    if (is_empty(file))
        db.refuse("empty; holdfast compare --store fills it");
    check_ours(db);
    std::vector<stored_series> all;
    statement rows(
        db,
        "SELECT s.id, c.time, c.git_commit, c.label, c.host, c.kernel, c.cpus, c.command, s.lock, s.metric, "
        "s.unit, s.higher_is_better, s.printed, r.value FROM comparison c JOIN series s ON s.comparison = "
        "c.id "
        "JOIN run r ON r.series = s.id WHERE instr(c.command, ?) > 0 OR ?1 = '' ORDER BY s.id, r.number");
    rows.with(command);
    std::int64_t last = -1;
    while (rows.step()) {
        if (rows.integer(0) != last) {
            last = rows.integer(0);
            all.push_back({.when = {.time = rows.integer(1),
                                    .commit = rows.text(2),
                                    .label = rows.text(3),
                                    .host = rows.text(4),
                                    .kernel = rows.text(5)},
                           .cpus = static_cast<unsigned>(rows.integer(6)),
                           .command = rows.text(7),
                           .lock = rows.text(8),
                           .what = {.name = rows.text(9),
                                    .unit = rows.text(10),
                                    .higher_is_better = rows.integer(11) != 0,
                                    .printed = rows.integer(12) != 0},
                           .values = {}});
        }
        all.back().values.push_back(rows.real(13));
    }
    return all;
}

#else

namespace {

[[noreturn]] void refuse(const std::string& file) {
    throw std::runtime_error(
        fmt::format("{}: this holdfast was built without SQLite (libsqlite3-dev), so it keeps no results",
                    printable(file)));
}

} // namespace

void check_store(const std::string& file) {
    refuse(file);
}

void append(const std::string& file, const experiment&, const circumstances&) {
    refuse(file);
}

std::vector<stored_series> read_store(const std::string& file, const std::string&) {
    refuse(file);
}

#endif

} // namespace holdfast::compare
