import ServerClients

/// Refresh tokens in the hands of a thief.
struct StolenTokens {
    /// An owner and a thief with the tokens of one family.
    struct Family: Sendable {
        let order: String
        var owners: String
        let thiefs: String
    }

    let house: Household
    /// The number of families of each kind.
    let count: Int

    /// Steals tokens. Returns the unbound families, in which both owner and thief go on.
    func run(_ findings: inout Findings<Rule>) throws -> [Family] {
        let found = Shared(findings)
        let families = Shared<[Family]>([])
        let threads = 8
        try onThreads(threads) { index in
            var connection = try self.house.server.connect()
            let key = try ProofKey()
            let another = try ProofKey()
            for number in stride(from: index, to: self.count, by: threads) {
                let family = try self.stealUnbound(number, on: &connection)
                families.withLock { $0.append(family) }
                try self.stealBound(number, key: key, another: another, found, on: &connection)
            }
        }
        findings = found.withLock { $0 }
        return families.withLock { $0 }
    }

    /// Renews each owner's token, a day later.
    func ownersGoOn(_ families: inout [Family]) throws {
        var connection = try self.house.server.connect()
        for index in families.indices {
            families[index].owners =
                try self.house.renew(families[index].owners, of: self.house.app, on: &connection)
                ?? families[index].owners
        }
    }

    /// Renews each thief's token, another day later. Afterwards neither has a valid token, because one of the two
    /// presented a used token.
    func thievesGoOn(_ families: [Family], _ findings: inout Findings<Rule>) throws {
        var connection = try self.house.server.connect()
        for family in families {
            let answers = try [family.thiefs, family.thiefs, family.owners].map {
                try self.house.renew($0, of: self.house.app, on: &connection)
            }
            findings.check(
                .aStolenTokenEndsItsFamily, answers.dropFirst().allSatisfy { $0 == nil },
                "\(family.order): a token still renews")
        }
    }

    /// Lets thief and owner renew the same token in some order, twice each.
    private func stealUnbound(_ number: Int, on connection: inout HTTPConnection) throws -> Family {
        var own: String? = try self.house.family(of: self.house.app, on: &connection)
        for _ in 0..<(number % 3) {
            own = try own.flatMap { try self.house.renew($0, of: self.house.app, on: &connection) }
        }
        guard let stolen = own else { throw LoadError("an owner alone was refused") }
        // All orders of two steps of each: T of the thief, O of the owner.
        let orders = ["TTOO", "TOTO", "TOOT", "OTTO", "OTOT", "OOTT"]
        var (owners, thiefs) = (stolen, stolen)
        for step in orders[number % orders.count] {
            guard
                let next = try self.house.renew(
                    step == "T" ? thiefs : owners, of: self.house.app, on: &connection)
            else { continue }
            if step == "T" { thiefs = next } else { owners = next }
        }
        return Family(order: orders[number % orders.count], owners: owners, thiefs: thiefs)
    }

    /// Steals a bound token. A thief with the token alone gets nothing, and its owner notices nothing.
    private func stealBound(
        _ number: Int, key: ProofKey, another: ProofKey, _ findings: Shared<Findings<Rule>>,
        on connection: inout HTTPConnection
    ) throws {
        let isWeb = number % 2 == 0
        let owner = isWeb ? self.house.web : self.house.app
        let token = try self.house.family(of: owner, key: isWeb ? nil : key, on: &connection)
        let thief = isWeb ? self.house.stranger : self.house.app
        let gained = [
            try self.house.renew(token, of: thief, on: &connection),
            try self.house.renew(token, of: thief, key: another, on: &connection),
        ]
        let again = try self.house.renew(token, of: owner, key: isWeb ? nil : key, on: &connection)
        findings.withLock {
            $0.check(.aStolenBoundTokenGivesNothing, gained.allSatisfy { $0 == nil }, "a thief without the key")
            $0.check(.aStolenBoundTokenGivesNothing, again != nil, "the owner was signed out by a thief")
        }
    }
}
