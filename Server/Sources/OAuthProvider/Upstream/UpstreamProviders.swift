import OAuth
public import Records
import Settings
public import _Primitives

/// An operator's settings for another provider. Settings of `nil` stay unchanged, or have their usual values.
public struct UpstreamChange: Sendable, Equatable {
    public var title: String?
    public var endpoints: UpstreamProvider.Endpoints?
    public var clientID: String?
    public var authentication: UpstreamProvider.Authentication?
    /// The secret. Not for a log.
    public var secret: SecretBytes?
    public var scopes: [String]?
    public var levels: [UpstreamProvider.Level]?
    public var usualLevel: String?
    public var levelRequests: [UpstreamProvider.LevelRequest]?
    public var levelClaim: String?
    /// The hint of a higher level; an empty claim for none.
    public var levelHint: UpstreamProvider.LevelHint?
    public var signsOut: Bool?
    public var newcomers: UpstreamProvider.Newcomers?
    public var emailDomains: [String]?
    public var subjectClaim: String?

    /// Creates a change of nothing.
    public init() {}
}

/// The other providers by which people can sign in, as operators manage them. Every change is in the audit trail.
public struct UpstreamProviders: Sendable {
    private let clients: Clients
    private let store: any UpstreamStore

    /// Creates the list of providers, by the rules for the clients of this provider.
    public init(_ clients: Clients, store: any UpstreamStore) {
        self.clients = clients
        self.store = store
    }

    /// `true` if a text can be the name of a provider: the name is part of addresses, and begins with a letter.
    static func isName(_ text: some StringProtocol) -> Bool {
        let letters = text.utf8
        return (1...Limits.Fixed.upstreamNameLetters).contains(letters.count)
            && (letters.first.map { (0x61...0x7A).contains($0) } ?? false)
            && letters.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
    }

    /// Adds another provider. Throws `OAuthError` `invalid_request` with a sentence for the operator, and
    /// ``StoreError/Code/conflict`` if the name is taken or the list is full.
    public func add(
        name: String, kind: UpstreamProvider.Kind, issuer: String, _ settings: UpstreamChange, by operator: String
    ) async throws -> UpstreamProvider {
        guard Self.isName(name) else {
            throw Self.refusal(
                "The name of a provider has small letters, digits and hyphens, begins with a letter, and has \(Limits.Fixed.upstreamNameLetters) of them at most."
            )
        }
        guard let usual = self.levels.first else { throw Self.refusal("This server knows no levels.") }
        let now = self.clients.time.now()
        var upstream = UpstreamProvider(
            name: name, title: name, kind: kind, issuer: issuer, clientID: "",
            scopes: kind == .openID ? ["openid", "profile", "email"] : [], usualLevel: usual, createdAt: now)
        settings.apply(to: &upstream)
        try self.check(upstream)
        try await self.store.addProvider(
            upstream, limit: self.clients.limits.oauth.upstreamProviders,
            audit: AuditEvent(.providerAdded, at: now, actor: `operator`, detail: name))
        return upstream
    }

    /// Returns the reason why people cannot come by a provider as it is set up now, found by its discovery document.
    /// `nil` if nothing is wrong in the document, the operator has named the addresses, or this server calls nobody.
    ///
    /// Cost: a call.
    public func trouble(of upstream: UpstreamProvider) async throws -> String? {
        guard self.clients.choices.calls != nil else { return nil }
        do {
            _ = try await UpstreamCalls(self.clients).metadata(of: upstream)
            return nil
        } catch let refusal as UpstreamRefusal { return refusal.reason }
    }

    /// Returns all providers, in the order of their addition.
    public func all() async throws -> [UpstreamProvider] { try await self.store.upstreamProviders() }

    /// Returns the provider of a name; `nil` for an unknown name.
    public func provider(_ name: String) async throws -> UpstreamProvider? {
        try await self.store.upstreamProvider(name)
    }

    /// Changes a provider's settings. Returns `nil` for an unknown name. Throws `OAuthError` as
    /// ``add(name:kind:issuer:_:by:)`` does, and for another subject claim, which never changes.
    public func change(
        _ name: String, _ change: UpstreamChange, by operator: String
    ) async throws -> UpstreamProvider? {
        let now = self.clients.time.now()
        return try await self.store.changeProvider(name) { upstream in
            let before = upstream
            change.apply(to: &upstream)
            try self.check(upstream)
            // With another claim, a person could have another person's subject, and would be that person here.
            guard upstream.subjectClaim.hasSameBytes(as: before.subjectClaim) else {
                throw Self.refusal(
                    "The subject claim stays: people would be others by another one. Remove the provider and add it anew."
                )
            }
            guard upstream != before else { return [] }
            let detail = "\(name) \(upstream.differences(from: before).joined(separator: ","))"
            return [AuditEvent(.providerChanged, at: now, actor: `operator`, detail: detail)]
        }
    }

    /// Removes a provider, with all links to it. People's authentications by the provider end. Returns `true` if the
    /// provider existed.
    public func remove(_ name: String, by operator: String) async throws -> Bool {
        try await self.store.removeProvider(
            name, audit: AuditEvent(.providerRemoved, at: self.clients.time.now(), actor: `operator`, detail: name))
    }

    /// Returns an account's connections, the oldest first.
    public func links(ofAccount id: String) async throws -> [UpstreamLink] { try await self.store.links(ofAccount: id) }

    /// Ends a connection, with the account's authentications by it. Returns `true` if the connection existed.
    ///
    /// - Parameter operator: The operator, for the audit trail; `nil` for the person's own phone.
    public func removeLink(
        _ id: String, ofAccount account: String, by operator: String? = nil
    ) async throws -> Bool {
        try await self.store.removeLink(
            id, ofAccount: account,
            audit: AuditEvent(
                .identityUnlinked, at: self.clients.time.now(), accountID: account, actor: `operator`, detail: id))
    }

    /// Returns the address to which a provider has to send browsers back, for the registration of this server at the
    /// provider.
    public func redirectURI(of name: String) -> String {
        Self.redirectURI(of: name, issuer: self.clients.issuer)
    }

    static func redirectURI(of name: String, issuer: String) -> String {
        "\(issuer)/sign-in/provider/\(name)/callback"
    }

    /// The address to which a provider has to send browsers back after a sign-out, for the registration of this server
    /// at the provider.
    public var signedOutURI: String { Self.signedOutURI(issuer: self.clients.issuer) }

    static func signedOutURI(issuer: String) -> String { issuer + Self.signedOutPath }

    /// The path of the sign-out address, below the issuer's. All providers have the same path, as the `state` names the
    /// browser's client.
    public static let signedOutPath = "/v0/sign_in/logingov_logout_proxy"

    // MARK: What a provider can be

    /// This server's own levels, the least sure first.
    private var levels: [String] {
        var seen: Set<ExactText> = []
        return self.clients.rules.levels.flatMap(\.levels).filter { seen.insert(ExactText($0)).inserted }
    }

    private static func refusal(_ sentence: String) -> OAuthError { OAuthError(.invalidRequest, sentence) }

    private func check(_ upstream: UpstreamProvider) throws {
        let most = Limits.Fixed.upstreamTextBytes
        func isText(_ text: String) -> Bool {
            (1...most).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        // People read the title like the names of services.
        try self.clients.rules.check(ClientChange(name: upstream.title))
        guard let issuer = try? RedirectURI(upstream.issuer), !issuer.text.utf8.contains(UInt8(ascii: "?")) else {
            throw Self.refusal("The issuer is https, or http to a literal loopback address, without a query.")
        }
        guard isText(upstream.clientID) else {
            throw Self.refusal("The client id is what this server is called there: 1 to \(most) letters.")
        }
        let length = upstream.secret?.count
        guard upstream.authentication.needsSecret ? (1...most).contains(length ?? 0) : length == nil else {
            throw Self.refusal(
                "A secret of \(most) bytes at most goes with client_secret_basic and client_secret_post alone.")
        }
        try self.checkKind(upstream)
        try self.checkLevelRequests(upstream)
        try self.checkLists(upstream)
        guard self.levels.containsBytes(of: upstream.usualLevel),
            upstream.levels.allSatisfy({ isText($0.theirs) && self.levels.containsBytes(of: $0.ours) })
        else {
            throw Self.refusal(
                "A level of theirs is a word, and is worth one of ours: \(self.levels.joined(separator: ", ")).")
        }
    }

    private func checkLevelRequests(_ upstream: UpstreamProvider) throws {
        let (most, bytes) = (Limits.Fixed.upstreamListEntries, Limits.Fixed.upstreamTextBytes)
        func isWord(_ text: String) -> Bool {
            (1...bytes).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        let requests = upstream.levelRequests
        guard requests.count <= most, Set(requests.map { ExactText($0.asked) }).count == requests.count,
            requests.allSatisfy({ request in
                (1...most).contains(request.sent.count) && request.raised.count <= most
                    && ([request.asked] + request.sent + request.raised).allSatisfy(isWord)
            })
        else {
            throw Self.refusal(
                "A level that is asked for is a word, each once, with one or more words of theirs: \(most) at most.")
        }
        let claims = [upstream.levelClaim] + (upstream.levelHint.map { [$0.claim, $0.value ?? $0.claim] } ?? [])
        guard claims.allSatisfy(isWord) else { throw Self.refusal("The name of a claim is one word.") }
        guard
            upstream.kind == .openID
                || requests.isEmpty && upstream.levelHint == nil
                    && upstream.levelClaim.hasSameBytes(as: UpstreamProvider.usualLevelClaim)
        else {
            throw Self.refusal("A provider of OAuth 2.0 alone is asked for no levels, and says none.")
        }
        guard upstream.kind == .openID || !upstream.signsOut else {
            throw Self.refusal("A provider of OAuth 2.0 alone signs nobody out.")
        }
    }

    private func checkKind(_ upstream: UpstreamProvider) throws {
        switch upstream.kind {
        case .openID:
            guard upstream.endpoints == nil else {
                throw Self.refusal("The addresses of a provider of OpenID Connect are discovered.")
            }
            guard upstream.scopes.containsBytes(of: Scope.openID) else {
                throw Self.refusal("A provider of OpenID Connect is asked for the scope openid.")
            }
        case .oauth2:
            guard let endpoints = upstream.endpoints, (try? UpstreamMetadata(endpoints, issuer: upstream.issuer)) != nil
            else {
                throw Self.refusal(
                    "A provider of OAuth 2.0 has three addresses, each https, or http to a literal loopback address: authorization, token and userinfo."
                )
            }
        }
    }

    private func checkLists(_ upstream: UpstreamProvider) throws {
        let most = Limits.Fixed.upstreamListEntries
        guard upstream.scopes.count <= most, upstream.levels.count <= most, upstream.emailDomains.count <= most else {
            throw Self.refusal("Scopes, levels and domains are \(most) at most.")
        }
        guard upstream.scopes.isEmpty || (try? Scope(upstream.scopes.joined(separator: " "))) != nil,
            upstream.scopes.allSatisfy({ !$0.utf8.contains(UInt8(ascii: " ")) })
        else { throw Self.refusal("A scope is one word.") }
        let areHosts = upstream.emailDomains.allSatisfy { domain in
            (1...Limits.Fixed.hostBytes).contains(domain.utf8.count)
                && domain.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
                        || $0 == UInt8(ascii: ".")
                }
        }
        guard areHosts else { throw Self.refusal("A domain is a host in small letters: people.example.") }
        guard (1...Limits.Fixed.upstreamNameLetters).contains(upstream.subjectClaim.utf8.count),
            upstream.subjectClaim.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw Self.refusal("The subject claim is the name of a member of the userinfo.") }
    }
}

extension UpstreamChange {
    fileprivate func apply(to upstream: inout UpstreamProvider) {
        if let title { upstream.title = title }
        if let endpoints { upstream.endpoints = endpoints }
        if let clientID { upstream.clientID = clientID }
        if let authentication {
            upstream.authentication = authentication
            if !authentication.needsSecret { upstream.secret = nil }
        }
        if let secret { upstream.secret = secret }
        if let scopes { upstream.scopes = scopes }
        if let levels { upstream.levels = levels }
        if let usualLevel { upstream.usualLevel = usualLevel }
        if let levelRequests { upstream.levelRequests = levelRequests }
        if let levelClaim { upstream.levelClaim = levelClaim }
        if let levelHint { upstream.levelHint = levelHint.claim.isEmpty ? nil : levelHint }
        if let signsOut { upstream.signsOut = signsOut }
        if let newcomers { upstream.newcomers = newcomers }
        if let emailDomains { upstream.emailDomains = emailDomains }
        if let subjectClaim { upstream.subjectClaim = subjectClaim }
    }
}

extension UpstreamProvider {
    /// Returns the names of the changed settings, for the audit trail.
    fileprivate func differences(from before: UpstreamProvider) -> [String] {
        // Statements of their own: the compiler takes seconds for one list of so many comparisons.
        var names: [String] = []
        func compare(_ name: String, _ isChanged: Bool) { if isChanged { names.append(name) } }
        compare("title", self.title != before.title)
        compare("endpoints", self.endpoints != before.endpoints)
        compare("client-id", self.clientID != before.clientID)
        compare(
            "authentication", self.authentication != before.authentication || !self.hasSameSecret(as: before))
        compare("scopes", self.scopes != before.scopes)
        compare("levels", self.levels != before.levels)
        compare("usual-level", self.usualLevel != before.usualLevel)
        compare("newcomers", self.newcomers != before.newcomers)
        compare("level-requests", self.levelRequests != before.levelRequests)
        compare("level-claim", self.levelClaim != before.levelClaim)
        compare("level-hint", self.levelHint != before.levelHint)
        compare("sign-out", self.signsOut != before.signsOut)
        compare("email-domains", self.emailDomains != before.emailDomains)
        compare("subject-claim", self.subjectClaim != before.subjectClaim)
        return names
    }
}
