import ServerClients
import _Primitives

/// A client's requests for tokens to a provider: our provider, or another maker's provider beside it.
struct TokenProvider: Sendable {
    let port: UInt16
    let process: Int32
    let exchange: @Sendable (String) -> Request
    let refresh: @Sendable (String) -> Request
    let introspection: @Sendable (String) -> Request
    let clientCredentials: Request

    func connect() throws -> HTTPConnection { try HTTPConnection(port: self.port) }
}

/// The rates of the endpoints of programs.
struct TokenRates {
    /// Exchanges of codes for tokens, with an ID token. The codes are made before.
    let exchanged: Measurement
    /// Exchanges of refresh tokens for the next tokens, each durable. Our families are renewed twice each: a third
    /// token within a minute would be the second token again.
    let renewed: Measurement
    /// Introspections of access tokens, each of another token.
    let introspected: Measurement
    /// Access tokens that a client requests in its own name.
    let credited: Measurement
}

/// Loads the endpoints of programs, one after the other.
struct TokenLoad {
    let provider: TokenProvider
    let connections: Int

    /// - Parameters:
    ///   - codes: The codes to exchange. Making codes takes time, and our codes live for a minute.
    ///   - families: A refresh token for each connection; `nil` if the codes give refresh tokens.
    ///   - tokens: The number of renewals, of introspections, and of tokens in a client's own name.
    func rates(codes: [String], families: [String]?, tokens: Int) throws -> TokenRates {
        let (exchanged, given) = try self.exchange(codes, begin: families == nil)
        let (renewed, access) = try self.renew(
            families ?? given, families == nil ? min(tokens, given.count * 2) : tokens)
        return TokenRates(
            exchanged: exchanged, renewed: renewed,
            introspected: try self.each(access.count) { index, connection in
                let answer = try connection.exchange(self.provider.introspection(access[index]))
                guard answer.status == 200, answer.body.firstRange(of: Array("client_id".utf8)) != nil else {
                    throw LoadError("introspect: \(String(decoding: answer.body, as: UTF8.self))")
                }
            },
            credited: try self.each(tokens) { _, connection in
                let answer = try connection.exchange(self.provider.clientCredentials)
                guard answer.status == 200 else { throw LoadError("client_credentials: \(answer.status)") }
            })
    }

    /// - Parameter begin: `true` if each code begins a family.
    private func exchange(_ codes: [String], begin: Bool) throws -> (Measurement, families: [String]) {
        let families = Shared<[String]>([])
        let measured = try self.each(codes.count) { number, connection in
            let answer = try connection.exchange(self.provider.exchange(codes[number]))
            guard begin else {
                guard answer.status == 200 else { throw LoadError("code: \(answer.status)") }
                return
            }
            let refresh = try RelyingParty.renewable(in: answer).refresh
            families.withLock { $0.append(refresh) }
        }
        return (measured, families.withLock { $0 })
    }

    private func renew(_ heads: [String], _ count: Int) throws -> (Measurement, access: [String]) {
        let access = Shared<[String]>([])
        let measured = try measured(self.provider.process) {
            try onThreads(self.connections) { index in
                var connection = try self.provider.connect()
                var mine = stride(from: index, to: heads.count, by: self.connections).map { heads[$0] }
                var own: [String] = []
                for number in stride(from: index, to: count, by: self.connections) {
                    let place = number / self.connections % mine.count
                    let given = try RelyingParty.renewed(
                        in: try connection.exchange(self.provider.refresh(mine[place])))
                    // The other maker's provider gives no next token: its refresh token stays the same.
                    mine[place] = given.refresh ?? mine[place]
                    own.append(given.access)
                }
                let found = own
                access.withLock { $0 += found }
            }
            return count
        }
        return (measured, access.withLock { $0 })
    }

    /// Runs an operation `count` times, on all connections at once.
    private func each(_ count: Int, _ body: @escaping @Sendable (Int, inout HTTPConnection) throws -> Void) throws
        -> Measurement
    {
        try measured(self.provider.process) {
            try onThreads(self.connections) { index in
                var connection = try self.provider.connect()
                for number in stride(from: index, to: count, by: self.connections) { try body(number, &connection) }
            }
            return count
        }
    }
}

extension Run {
    /// Returns our own server, with the requests of this client.
    func provider(_ client: RelyingParty, verifier: String) -> TokenProvider {
        TokenProvider(
            port: self.server.port, process: self.process,
            exchange: { client.exchange(code: $0, verifier: verifier) }, refresh: { client.refresh($0) },
            introspection: client.introspection, clientCredentials: client.clientCredentials)
    }

    /// Makes codes for a browser that is signed in.
    ///
    /// - Parameter session: The browser's cookies.
    func codes(_ client: RelyingParty, verifier: String, session: [String], count: Int) throws -> [String] {
        let made = Shared<[String]>([])
        try onThreads(self.connections) { index in
            var connection = try self.server.connect()
            for _ in stride(from: index, to: count, by: self.connections) {
                let asked = client.authorization(verifier: verifier, scope: "openid+offline_access", session: session)
                let answer = try connection.exchange(asked)
                guard let code = client.code(in: answer) else { throw LoadError("authorize: \(answer.status)") }
                made.withLock { $0.append(code) }
            }
        }
        return made.withLock { $0 }
    }
}
