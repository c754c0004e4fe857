import OAuthProvider

// The requests of tests that say nothing about their source: all of them have the same source, without a name.

extension Grants {
    func answer(
        header: String?, body: String, proofs: [String] = [], over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.answer(header: header, body: body, source: "", proofs: proofs, over: connection)
    }
}

extension Introspection {
    func answer(
        header: String?, body: String, accept: String? = nil, over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.answer(header: header, body: body, source: "", accept: accept, over: connection)
    }
}

extension Revocation {
    func answer(
        header: String?, body: String, over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.answer(header: header, body: body, source: "", over: connection)
    }
}

extension BackchannelAuthentications {
    func answer(
        header: String?, body: String, over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.answer(header: header, body: body, source: "", over: connection)
    }
}
