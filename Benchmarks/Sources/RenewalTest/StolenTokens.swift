import ServerClients

/// Refresh tokens in the hands of a thief.
struct StolenTokens {
    let house: Household
    /// How many of each kind.
    let count: Int

    func run(_ findings: inout Findings<Rule>) throws {
        let found = Shared(findings)
        let threads = 8
        try onThreads(threads) { index in
            var connection = try self.house.server.connect()
            let key = try ProofKey()
            let another = try ProofKey()
            for number in stride(from: index, to: self.count, by: threads) {
                try self.stealUnbound(number, found, on: &connection)
                try self.stealBound(number, key: key, another: another, found, on: &connection)
            }
        }
        findings = found.withLock { $0 }
    }

    /// Thief and owner renew the same token in some order. When both have done so twice, nothing is left of the family.
    private func stealUnbound(_ number: Int, _ findings: Shared<Findings<Rule>>, on connection: inout HTTPConnection)
        throws
    {
        var own: String? = try self.house.family(of: self.house.app, on: &connection)
        for _ in 0..<(number % 3) {
            own = try own.flatMap { try self.house.renew($0, of: self.house.app, on: &connection) }
        }
        guard let stolen = own else { throw LoadError("an owner alone was refused") }
        // Every order of two steps of each, one after the other: T of the thief, O of the owner.
        let orders = ["TTOO", "TOTO", "TOOT", "OTTO", "OTOT", "OOTT"]
        var (owners, thiefs, head) = (stolen, stolen, stolen)
        for step in orders[number % orders.count] {
            guard
                let next = try self.house.renew(
                    step == "T" ? thiefs : owners, of: self.house.app, on: &connection)
            else { continue }
            head = next
            if step == "T" { thiefs = next } else { owners = next }
        }
        let isOver = try self.house.renew(head, of: self.house.app, on: &connection) == nil
        let order = orders[number % orders.count]
        findings.withLock { $0.check(.aStolenTokenEndsItsFamily, isOver, "\(order): the last token still renews") }
    }

    /// Whoever has a bound token alone gets nothing, and its owner notices nothing.
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
