import ServerClients
import _Primitives

/// What the endpoints of programs give in a second.
struct TokenRates {
    /// Codes for tokens, an ID token among them. The codes are made before.
    let exchanged: Measurement
    /// Refresh tokens for the next ones, durably, a family for each connection.
    let renewed: Measurement
    /// Access tokens that are looked at, each another one.
    let introspected: Measurement
}

extension Run {
    /// - Parameters:
    ///   - client: One that may renew its tokens.
    ///   - session: The cookies of a browser that is signed in.
    ///   - codes: Codes that are exchanged. Making them takes time, and a code lives for a minute.
    ///   - tokens: Access tokens that are introspected.
    func tokenRates(_ client: RelyingParty, session: [String], codes: Int, tokens: Int) throws -> TokenRates {
        let verifier = RandomSource.system.token()
        let made = Shared<[String]>([])
        try onThreads(self.connections) { index in
            var connection = try self.server.connect()
            for _ in stride(from: index, to: codes, by: self.connections) {
                let asked = client.authorization(
                    verifier: verifier, scope: "openid+offline_access", session: session)
                let answer = try connection.exchange(asked)
                guard let code = client.code(in: answer) else { throw LoadError("authorize: \(answer.status)") }
                made.withLock { $0.append(code) }
            }
        }
        let all = made.withLock { $0 }
        let families = Shared<[String]>([])
        let exchanged = try self.measure {
            try onThreads(self.connections) { index in
                var connection = try self.server.connect()
                for number in stride(from: index, to: all.count, by: self.connections) {
                    let answer = try connection.exchange(client.exchange(code: all[number], verifier: verifier))
                    let refresh = try client.renewable(in: answer).refresh
                    families.withLock { $0.append(refresh) }
                }
            }
            return all.count
        }
        let heads = families.withLock { $0 }
        let access = Shared<[String]>([])
        let renewed = try self.measure {
            try onThreads(self.connections) { index in
                var connection = try self.server.connect()
                var (head, own): (String, [String]) = (heads[index], [])
                for _ in stride(from: index, to: tokens, by: self.connections) {
                    let given = try client.renewable(in: try connection.exchange(client.refresh(head)))
                    head = given.refresh
                    own.append(given.access)
                }
                let mine = own
                access.withLock { $0 += mine }
            }
            return tokens
        }
        let different = access.withLock { $0 }
        let introspected = try self.measure {
            try onThreads(self.connections) { index in
                var connection = try self.server.connect()
                for number in stride(from: index, to: different.count, by: self.connections) {
                    let answer = try connection.exchange(client.introspection(different[number]))
                    guard answer.status == 200, answer.body.starts(with: Array("{\"iss".utf8)) else {
                        throw LoadError("introspect: \(String(decoding: answer.body, as: UTF8.self))")
                    }
                }
            }
            return different.count
        }
        return TokenRates(exchanged: exchanged, renewed: renewed, introspected: introspected)
    }
}
