import Records
import Testing
import _Primitives

@Suite("Decision 21: a changed column counts if the server changes the column and the trail records the change")
struct EditableColumnsTests {
    private static let shared = SharedColumns([
        ("account", ["id", "number", "username", "username_code", "is_locked", "locked_at", "email", "created_at"]),
        ("upstream_provider", ["id", "title", "secret"]), ("organisation", ["id", "name", "created_at"]),
        ("oauth_client", ["id", "secret_digest"]),
    ])

    @Test("Only columns of both databases are carried over, each with the entries of its change")
    func carried() {
        let columns = EditableColumns.accounts.carried(Self.shared)
        #expect(columns.map(\.name) == ["email", "username", "username_code"])
        #expect(columns.map(\.entries) == [[.accountEmailChanged], [.accountRenamed], [.accountRenamed]])
        #expect(columns.map(\.isUnique) == [false, false, true])
        #expect(EditableColumns.services.carried(Self.shared).isEmpty)
    }

    @Test("A client's secret counts if the trail records a new secret or another authentication")
    func secrets() {
        let columns = EditableColumns.clients.carried(Self.shared)
        #expect(columns.map(\.name) == ["secret_digest"])
        #expect(columns.map(\.entries) == [[.clientSecretRotated, .clientAuthenticationChanged]])
    }

    @Test("Every change of a provider leaves the same kind of entry")
    func providers() {
        let columns = EditableColumns.providers.carried(Self.shared)
        #expect(columns.map(\.name) == ["title", "secret"])
        #expect(columns.allSatisfy { $0.entries == [.providerChanged] && !$0.isUnique })
    }

    @Test(
        "A difference in a column that no operation changes is by somebody else, except locks, which count elsewhere",
        arguments: [
            (EditableColumns.accounts, ["id", "number", "created_at"]), (.providers, ["id"]),
            (.organisations, ["id", "created_at"]), (.clients, ["id"]), (.services, []),
        ])
    func unexplained(columns: EditableColumns, names: [String]) {
        #expect(columns.unexplained(Self.shared, by: .somebodyElse) == names)
        #expect(columns.unexplained(Self.shared, by: .server).isEmpty)
    }

    @Test("A part of the restore has nothing to do without the table or column that the part needs")
    func needs() {
        #expect(Self.shared.meets(.nothing))
        #expect(Self.shared.meets(.table("account")))
        #expect(!Self.shared.meets(.table("service")))
        #expect(Self.shared.meets(.column("email", of: "account")))
        #expect(!Self.shared.meets(.column("phone", of: "account")))
        #expect(!Self.shared.meets(.column("profile", of: "service")))
    }

    @Test("Shared columns keep the table's order")
    func order() {
        #expect(Self.shared.columns(of: "organisation") == ["id", "name", "created_at"])
        #expect(Self.shared.columns(of: "account", among: ["email", "id", "phone"]) == ["id", "email"])
        #expect(Self.shared.columns(of: "organisation", except: ["name"]) == ["id", "created_at"])
        #expect(Self.shared.columns(of: "service").isEmpty)
    }
}
