import Records
import _Primitives

/// Other providers, and what people agree to, pass through.
extension FailingStore {
    func hasSignInServiceClient() async throws -> Bool { try await self.store.hasSignInServiceClient() }

    func sharedAudiences() async throws -> [String] { try await self.store.sharedAudiences() }

    func setDeviceSecret(digest: [UInt8], ofGrant id: String) async throws -> Bool {
        try await self.store.setDeviceSecret(digest: digest, ofGrant: id)
    }

    func pass(_ passed: PassedSession, beginning family: RefreshFamilyStart?, code: CodeRecord?, audit: AuditEvent)
        async throws
    {
        try await self.store.pass(passed, beginning: family, code: code, audit: audit)
    }

    func addProvider(_ provider: UpstreamProvider, limit: Int, audit: AuditEvent) async throws {
        try await self.store.addProvider(provider, limit: limit, audit: audit)
    }

    func upstreamProvider(_ name: String) async throws -> UpstreamProvider? {
        try await self.store.upstreamProvider(name)
    }

    func upstreamProviders() async throws -> [UpstreamProvider] { try await self.store.upstreamProviders() }

    func changeProvider(
        _ name: String, change: @escaping @Sendable (inout UpstreamProvider) throws -> [AuditEvent]
    ) async throws -> UpstreamProvider? {
        try await self.store.changeProvider(name, change: change)
    }

    func removeProvider(_ name: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeProvider(name, audit: audit)
    }

    func begin(_ trip: UpstreamTrip) async throws { try await self.store.begin(trip) }

    func requestOfTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> String? {
        try await self.store.requestOfTrip(
            stateDigest: stateDigest, provider: provider, browserDigest: browserDigest, at: moment)
    }

    func takeTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> UpstreamTrip? {
        try await self.store.takeTrip(
            stateDigest: stateDigest, provider: provider, browserDigest: browserDigest, at: moment)
    }

    func account(linkedTo identity: UpstreamIdentity) async throws -> String? {
        try await self.store.account(linkedTo: identity)
    }

    func arrive(
        _ arrival: UpstreamArrival, at moment: Timestamp, newcomer: UpstreamNewcomer?,
        told: @escaping @Sendable (_ account: String) -> (AuditEvent, NoticeRecord)
    ) async throws -> String? {
        try await self.store.arrive(arrival, at: moment, newcomer: newcomer, told: told)
    }

    func upstreamSignIn(request: String) async throws -> UpstreamSignIn? {
        try await self.store.upstreamSignIn(request: request)
    }

    func wantLink(request: String, provider: String) async throws -> Bool {
        try await self.store.wantLink(request: request, provider: provider)
    }

    func wantedLink(request: String) async throws -> WantedLink? {
        try await self.store.wantedLink(request: request)
    }

    func forgetWantedLink(request: String, provider: String) async throws {
        try await self.store.forgetWantedLink(request: request, provider: provider)
    }

    func connect(
        request: String, provider: String, account: String, limit: Int,
        link: @escaping @Sendable (UpstreamIdentity) -> (UpstreamLink, AuditEvent, NoticeRecord)
    ) async throws -> LinkRefusal? {
        try await self.store.connect(
            request: request, provider: provider, account: account, limit: limit, link: link)
    }

    func links(ofAccount id: String) async throws -> [UpstreamLink] { try await self.store.links(ofAccount: id) }

    func hasAgreed(account: String, version: String) async throws -> Bool {
        try await self.store.hasAgreed(account: account, version: version)
    }

    func agree(account: String, version: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.agree(account: account, version: version, audit: audit)
    }

    func removeLink(_ id: String, ofAccount account: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeLink(id, ofAccount: account, audit: audit)
    }
}
