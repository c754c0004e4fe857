import Ceremony
import Countersign
import Foundation
import JOSE
import UAFClient
import _Primitives

/// The phone as seen by personalised identities: the trusted servers, and the SDK for them.
struct IdentityPhone: Sendable {
    let options: PhoneOptions
    let report: Report
    let device: PhoneDevice
    let trusted: TrustedServers

    /// Switches the phone on, unless `device` is given. Throws the errors of `PhoneDevice.init`.
    init(_ options: PhoneOptions, _ report: Report, device: PhoneDevice? = nil) throws {
        self.options = options
        self.report = report
        self.device = try device ?? PhoneDevice(options)
        self.trusted = TrustedServers(home: self.device.home)
    }

    /// The default name of the phone at a server.
    static var name: String { "Terminal phone on \(ProcessInfo.processInfo.hostName)" }

    // MARK: Opening

    /// Returns the SDK for one server. The phone must trust the server; a server on this machine becomes trusted here.
    ///
    /// Throws ``Refusal`` for an untrusted server, and `CountersignError`.
    func sdk(for address: String) async throws -> CountersignSDK {
        try await self.sdk([try await self.trustedServer(address)])
    }

    /// Returns the SDK for all trusted servers; `nil` if no server is trusted.
    func sdkForAll() async throws -> CountersignSDK? {
        let servers = try self.trusted.all()
        return servers.isEmpty ? nil : try await self.sdk(servers)
    }

    private func sdk(_ servers: [IdentityConfiguration.TrustedServer]) async throws -> CountersignSDK {
        var configuration = IdentityConfiguration(servers: servers)
        configuration.facetID = PhoneDevice.facetID
        configuration.deviceName = Self.name
        configuration.securityInspection = SimulatedIntegrity(home: self.device.home)
        return try await self.device.identities(configuration)
    }

    // MARK: Trust

    /// Returns `true` if a server answers now, with keys that its root key has signed, and `false` if the server cannot
    /// be reached or cannot answer now. The keys are fetched anew, whatever the phone has stored.
    ///
    /// Throws ``Refusal``: `not-its-key` if another root key has signed the keys, `not-its-address` if the server has
    /// another name, `no-identities` if the address belongs to no such server, `tls-error`; and `TransportError`
    /// `tlsPinMismatch`.
    func answers(_ server: ServerAddress, by roots: JWKSet) async throws -> Bool {
        let response: TransportResponse
        do {
            response = try await self.device.fetch(server.url.appending(path: "identity/keys"))
        } catch let error as TransportError {
            guard error.code != .tlsPinMismatch else { throw error }
            guard error.code == .untrustedServer else { return false }
            throw Refusal(
                .unreachable, .unreachable, "tls-error",
                "The certificate of \(server.text) is not trusted. Is the certificate authority right (--ca-file)?")
        }
        guard response.status != 429, response.status < 500 else { return false }
        let stranger = Refusal.failed(
            "no-identities",
            "\(server.text) has no personalised identities (status \(response.status)). Is that the address in its codes?"
        )
        guard response.status == 200, let keys = String(validating: response.body, as: UTF8.self) else {
            throw stranger
        }
        do throws(IdentityMessageError) {
            _ = try ManagerKeySet(verifying: keys, server: server.text, roots: roots, at: TimeSource.system.now())
        } catch {
            switch error.code {
            case .wrongSignature:
                throw Refusal.failed(
                    "not-its-key",
                    "\(server.text) has another root key than this one. Nothing was changed: have its operator say "
                        + "`countersign admin identity root` again.")
            case .wrongReceiver:
                throw Refusal.failed(
                    "not-its-address",
                    "The server at \(server.text) calls itself otherwise. Nothing was changed: say its address as it stands "
                        + "in its codes, to the letter.")
            case .malformed: throw stranger
            // The keys have another version, or a clock is wrong. The root key is right all the same.
            default: break
            }
        }
        return true
    }

    private func trustedServer(_ address: String) async throws -> IdentityConfiguration.TrustedServer {
        if let server = try self.trusted.server(address) { return server }
        guard let server = ServerAddress(address), server.isLoopback else {
            throw Refusal(
                .refused, .refused, "unknown-server",
                "This phone does not trust \(address). Nothing was sent. If you know it, have its operator's root key "
                    + "(`countersign admin identity root`), and say `countersign-phone trust \(address) --key FILE`.")
        }
        return try await self.trust(server, announced: address)
    }

    /// Stores the root key of a server on this machine, as the server reports the key. Nobody can be between the phone
    /// and such a server.
    private func trust(_ server: ServerAddress, announced address: String) async throws
        -> IdentityConfiguration.TrustedServer
    {
        let response = try await self.device.fetch(server.url.appending(path: "identity/root"))
        guard response.status == 200 else {
            throw Refusal.failed(
                "no-identities", "\(server.text) has no personalised identities (status \(response.status)).")
        }
        let key = try TrustedServers.key(response.body)
        let trusted = IdentityConfiguration.TrustedServer(idmIdentifier: address, rootKeys: [key.text])
        try self.trusted.set(trusted)
        self.report.say([
            "event": .string("trusted"), "server": .string(address), "thumbprint": .string(key.thumbprint),
        ]) { terminal in
            terminal.notice("\(address) is on this machine: this phone trusts it from now on (key \(key.thumbprint)).")
        }
        return trusted
    }

    // MARK: Which identity

    /// Returns the identity for a command: the identity of the named server, or the only identity. Throws ``Refusal``
    /// if the phone has no identity, or several.
    ///
    /// - Parameter person: The person who answers; `nil` for a command without questions. A PIN on the command line is
    ///   for a server on this machine.
    func identity(_ person: IdentityHolder? = nil) async throws -> (
        sdk: CountersignSDK, identity: PersonalizedIdentity
    ) {
        guard let all = try await self.sdkForAll() else { throw Self.nobody }
        let identities = try all.personalizer.personalizedIdentities
        let named = try self.options.serverAddress()
        let meant = identities.filter { identity in named.map { ServerAddress(identity.idmIdentifier) == $0 } ?? true }
        guard let identity = meant.first else { throw Self.nobody }
        guard meant.count == 1 else {
            let servers = meant.map(\.idmIdentifier).joined(separator: ", ")
            throw Refusal.usage("This phone has several identities: name the server with --server (\(servers)).")
        }
        try person?.checkArguments(for: identity.idmIdentifier)
        return (all, identity)
    }

    private static var nobody: Refusal {
        .notFound(
            "not-personalized",
            "This phone has no such identity. Personalise it with an activation code: `countersign-phone enroll CODE`.")
    }
}
