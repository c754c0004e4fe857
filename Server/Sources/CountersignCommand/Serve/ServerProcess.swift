import Accounts
import Ceremony
import CountersignServer
import Endpoints
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import JOSE
import Logging
import NIOCore
import NIOSSL
import OAuth
import OAuthProvider
import Passwords
import Push
import SQLStore
import ServiceLifecycle
import Settings
import Synchronization
import UAF
import UAFRelyingParty
import UnixSignals
import _Primitives

/// A running server: its store, its listeners and its background work, until a signal ends the server.
struct ServerProcess {
    let configuration: ServeConfiguration

    func run() async throws {
        ThreadTurns.takeWhole()
        let logger = self.configuration.logger()
        self.configuration.warn(by: logger)
        let metrics = ServerMetrics()
        // The trap stands from the start: the signal's default would end a server that is not quite ready yet.
        let reloads = await UnixSignalsSequence(trapping: .sighup)
        let folder = DataFolder(path: self.configuration.dataFolder)
        let limit = try Descriptors.connections(self.configuration.connections)
        let (limits, hashing) = try SettableLimits.applied(
            self.configuration.limits, to: Limits(connections: limit), PasswordLimits())
        let connections = Self.connections(limit: limit, limits, metrics, logger)
        let stop = ServerStop(limits: limits)
        let outside = try self.outside(limits, logger)
        let opened: OpenStore
        do {
            opened = try OpenStore(
                folder: folder, keyFile: KeyFile(path: self.configuration.keyFile),
                limits: limits, measure: { metrics.stored($0) })
        } catch {
            // An HTTP client that is not shut down ends the program.
            await outside.push?.connections.close()
            await outside.pins?.close()
            throw error
        }
        // The steps below run for every outcome, also if the server does not even begin. Afterwards the folder belongs
        // to the next process.
        let ending: Result<Void, any Error>
        do {
            try await self.serve(opened, folder, hashing, outside, connections, stop, metrics, reloads, logger)
            ending = .success(())
        } catch {
            ending = .failure(error)
        }
        if let pins = outside.pins { await stop.part("client of the PIN service") { await pins.close() } }
        if let push = outside.push {
            await stop.part("connections to push services") { await push.connections.close() }
        }
        await stop.part("store") { await opened.database.close() }
        stop.finish(logger)
        try ending.get()
    }

    /// Serves until a signal ends the server, or a necessary part is missing.
    private func serve(
        _ opened: OpenStore, _ folder: DataFolder, _ hashing: PasswordLimits, _ outside: OutsideServices,
        _ connections: OpenConnections, _ stop: ServerStop, _ metrics: ServerMetrics, _ reloads: UnixSignalsSequence,
        _ logger: Logger
    ) async throws {
        try await self.checkIssuer(folder, opened.database)
        let trace = try self.traceRecorder()
        let identity = try self.tlsIdentity()
        let mutual = try self.mutualTLS()
        let assembly = try await self.assembly(opened, hashing, outside, metrics, trace, logger)
        try await assembly.logWarnedClients()
        // A missing PIN service is reported at the start, and not only to the first person who types a PIN.
        if let pins = outside.pins { _ = try? await pins.key(of: "start") }
        let database = opened.database
        metrics.watch(waiting: { database.waiting })
        let host = HostWatch(
            folder: folder, keyFile: KeyFile(path: self.configuration.keyFile),
            certificates: [("public", identity), ("mtls", mutual?.identity)].compactMap { name, identity in
                identity.map { (name, $0) }
            })
        metrics.watch(host: { host.numbers })
        let listening = Listening(count: mutual == nil ? 3 : 4)
        var services: [(name: String, service: any Service)] = [
            (
                "public listener",
                NamedListener(
                    listener: try self.application(
                        EventTaskResponder(base: assembly.publicRouter().buildResponder()), at: self.configuration.bind,
                        connections, stop, identity.map { TLSChannelConfiguration(tlsConfiguration: $0.configuration) },
                        opened.limits, listening, logger), endpoint: self.configuration.bind, setting: "--bind")
            ),
            (
                "operations listener",
                NamedListener(
                    listener: try self.application(
                        assembly.operationsRouter(
                            isListening: { listening.isComplete },
                            assertWritable: { try await database.assertWritable() }
                        ).buildResponder(), at: self.configuration.operationsBind, nil, stop, nil, opened.limits,
                        listening, logger),
                    endpoint: self.configuration.operationsBind, setting: "--operations-bind")
            ),
            (
                "socket of the administrators",
                AdministrationSocket.application(assembly, folder: folder, stop: stop, logger) { listening.report() }
            ),
            ("sweeper", Sweeper(assembly, logger: logger)),
            ("sealing anew", Resealer(assembly, logger: logger)),
            ("numbers of the store", StoreNumbers(assembly, logger: logger)),
            (
                "reloader",
                Reloader(
                    assembly: assembly, identities: [identity, mutual?.identity].compactMap(\.self), signals: reloads,
                    logger: logger)
            ),
            (
                "first start",
                FirstStart(
                    issuer: self.configuration.issuer, endpoint: self.configuration.bind, folder: folder,
                    database: database,
                    administrators: assembly.administrators, listening: listening, logger: logger)
            ),
        ]
        services += try self.mutualListener(mutual, assembly, connections, stop, opened.limits, listening, logger).map {
            ("listener that asks for certificates", $0)
        }
        services.append(("outbox", OutboxService(assembly, logger: logger)))
        let signals = StopSignals(stop, logger)
        defer { signals.cancel() }
        let group = ServiceGroup(
            configuration: ServicesTogether(services: services, stop: stop).group(logger: logger))
        defer { unlink(folder.socketPath) }
        try await group.run()
    }

    /// Refuses another address than the address at which people's phones were enrolled, unless the operator means the
    /// change: the phones' keys are bound to the address.
    private func checkIssuer(_ folder: DataFolder, _ database: SQLStore) async throws {
        let issuer = self.configuration.issuer
        // An earlier version kept the address only beside the database, in a file that could be lost.
        guard let former = try await database.issuer() ?? folder.issuer, !former.hasSameBytes(as: issuer),
            !former.hasSameBytes(as: self.configuration.formerIssuer ?? ""), try await database.hasDevices()
        else { return }
        throw CommandFailure(
            .failed, "people are enrolled at \(former), and the issuer is \(issuer)",
            remedy: """
                Their phones' keys and the services' settings are bound to that address: go on with --issuer \(former). \
                Where the change is meant, and everybody will be enrolled anew: --former-issuer \(former).
                """)
    }

    private func tlsIdentity() throws -> TLSIdentity? {
        guard let certificate = self.configuration.tlsCertificate, let key = self.configuration.tlsKey else {
            return nil
        }
        return try TLSIdentity(certificate: certificate, key: key)
    }

    /// Returns the listener that asks clients for certificates; `nil` if the operator has configured no such listener.
    /// Its certificate may differ from the public listener's, which can be behind a proxy that ends TLS.
    private func mutualTLS() throws -> MutualTLS? {
        guard self.configuration.mtlsBind != nil, let certificate = self.configuration.mtlsCertificate,
            let key = self.configuration.mtlsKey
        else { return nil }
        return MutualTLS(
            identity: try TLSIdentity(certificate: certificate, key: key),
            authorities: try self.configuration.mtlsAuthorities.map { try ClientAuthorities(file: $0) })
    }

    private func mutualListener(
        _ mutual: MutualTLS?, _ assembly: ServerAssembly, _ connections: OpenConnections, _ stop: ServerStop,
        _ limits: Limits, _ listening: Listening, _ logger: Logger
    ) throws -> [any Service] {
        guard let mutual, let endpoint = self.configuration.mtlsBind else { return [] }
        let responder = CertificateResponder(
            base: assembly.mutualRouter().buildResponder(), authorities: mutual.authorities)
        return [
            NamedListener(
                listener: try self.application(
                    responder, at: endpoint, connections, stop, mutual.configuration, limits, listening, logger),
                endpoint: endpoint, setting: "--mtls-bind")
        ]
    }

    private static func connections(
        limit: Int, _ limits: Limits, _ metrics: ServerMetrics, _ logger: Logger
    ) -> OpenConnections {
        let share = limits.connectionsPerSource
        // After two looks the server knows which clients do not read.
        return OpenConnections(
            limit: limit, share: share,
            accountShare: limits.deviceStreamsPerAccount * Limits.Fixed.connectionsPerDeviceStream,
            courtesy: limits.answerLook * 2, pauseOfReports: limits.pauseOfReports,
            registry: metrics.registry
        ) { report in
            switch report {
            case .bound:
                logger.error(
                    "All connections are in use: those that wait the longest are cut", metadata: ["limit": "\(limit)"])
            case .share(let source):
                logger.error(
                    "A source has more than its share of connections: it loses those that wait the longest",
                    metadata: ["source": "\(source)", "connectionsPerSource": "\(share)"])
            }
        }
    }

    private func assembly(
        _ opened: OpenStore, _ hashing: PasswordLimits, _ outside: OutsideServices, _ metrics: ServerMetrics,
        _ trace: TraceRecorder?, _ logger: Logger
    ) async throws -> ServerAssembly {
        let rules = RuleFiles(
            metadataFolder: self.configuration.metadataFolder, policiesFolder: self.configuration.policiesFolder,
            channelCertificates: self.configuration.channelBinding,
            channelMayBeUntold: self.configuration.channelBindingIfTold)
        let leniency = try Leniency(self.configuration.lenient)
        var configuration = ServerAssembly.Configuration(
            issuer: self.configuration.issuer, serviceName: self.configuration.serviceName, facets: try self.facets(),
            rules: { try rules.load() },
            lenientReadings: leniency.readings,
            knownExtensions: Set(self.configuration.extensions + ["fido.uaf.uvm"]),
            trustedProxies: try self.proxies(), limits: opened.limits)
        configuration.apps = try self.configuration.apps()
        configuration.metrics = metrics
        configuration.hashing = hashing
        configuration.breachedPasswords = try self.breachedPasswords()
        configuration.simulatedPeople = try self.simulatedPeople()
        configuration.mail = try self.mail(opened.limits)
        configuration.logger = logger
        configuration.pins = outside.pins
        configuration.identities = self.configuration.identities
        configuration.hasRegistration = self.configuration.clientRegistration
        configuration.isRegistrationOpen = self.configuration.openClientRegistration
        configuration.takesClientDocuments = self.configuration.clientIDDocuments
        configuration.mutualTLS = self.configuration.mtlsBind.flatMap { _ in self.configuration.mtlsAddress }.map {
            .init(origin: $0, hasAuthorities: self.configuration.mtlsAuthorities != nil)
        }
        configuration.softwareStatements = try self.softwareStatements()
        if let version = self.configuration.termsVersion, let address = self.configuration.termsURI {
            configuration.terms = Terms(version: version, address: address)
        }
        configuration.signInService = self.configuration.signInService
        configuration.appAttestation = try self.configuration.appAttestationPolicy()
        configuration.calls = outside.calls
        if let push = outside.push {
            configuration.dispatchers = try push.dispatchers(
                targets: opened.database, limits: opened.limits, metrics: metrics, logger: logger)
        }
        configuration.versions = try ProtocolVersions.versions(self.configuration.versions)
        configuration.acceptsLessPreferredAttestation = leniency.acceptsLessPreferredAttestation
        configuration.acceptsOutdatedAuthenticators = leniency.acceptsOutdatedAuthenticators
        do { return try await opened.assembly(configuration, trace: trace) } catch let error as MetadataFolderError {
            throw CommandFailure(.failed, "\(error)", remedy: "--metadata names the folder.")
        } catch let error as PolicyFileError {
            throw CommandFailure(.failed, "\(error)", remedy: "--policies names the folder.")
        } catch let error as ChannelCertificateError {
            throw CommandFailure(.failed, "\(error)", remedy: "--channel-binding names the files, PEM each.")
        }
    }

    /// Returns the services outside this process. Throws ``CommandFailure`` for settings and files that cannot be used.
    private func outside(_ limits: Limits, _ logger: Logger) throws -> OutsideServices {
        let calls = try self.configuration.checkedCalls(limits)
        return OutsideServices(
            pins: self.configuration.pinService.map { PinServiceClient(path: $0, logger: logger) }, calls: calls,
            push: try self.configuration.pushServices(calls: calls, limits))
    }

    /// Returns the simulated register; `nil` without a register. Throws ``CommandFailure`` that names the file and the
    /// line.
    private func simulatedPeople() throws -> SimulatedPeople? {
        guard let path = self.configuration.simulatedPeople else { return nil }
        let remedy = "--simulated-people names it: one JSON object a line."
        // One byte more than allowed is enough to see that the file is too large.
        guard let file = FileHandle(forReadingAtPath: path),
            let bytes = try? file.read(upToCount: Limits.Fixed.simulatedPeopleBytes + 1) ?? Data()
        else {
            throw CommandFailure(.notFound, "the simulated register \(path) cannot be read", remedy: remedy)
        }
        do { return try SimulatedPeople(parsing: Array(bytes)) } catch {
            let place = error.line.map { ", line \($0)" } ?? ""
            throw CommandFailure(
                .failed, "the simulated register \(path)\(place): \(error.reason)", remedy: remedy)
        }
    }

    private func breachedPasswords() throws -> BreachedPasswordList? {
        do {
            return try self.configuration.breachedPasswords.map { try BreachedPasswordList(path: $0) }
        } catch let error as BreachedListError {
            throw CommandFailure(
                error.code == .unreadable ? .notFound : .failed,
                "the list of breached passwords cannot be used: \(error.reason)",
                remedy: "--breached-passwords names it; `countersign hash breached` makes it.")
        }
    }

    private func mail(_ limits: Limits) throws -> (sender: MailSender, transport: any MailTransport)? {
        guard let text = self.configuration.mailCommand, let from = self.configuration.mailFrom else { return nil }
        guard let sender = MailSender(from) else {
            throw CommandFailure(.usage, "mailFrom takes an e-mail address, such as sign-in@example.com")
        }
        guard let command = SendmailCommand(text, time: limits.mail.mailCommandTime),
            FileManager.default.isExecutableFile(atPath: command.command[0])
        else {
            throw CommandFailure(
                .usage, "mailCommand names no program that can be run",
                remedy: "It takes a path and words, such as /usr/sbin/sendmail -t -i.")
        }
        return (sender, command)
    }

    private func traceRecorder() throws -> TraceRecorder? {
        do {
            return try self.configuration.traceFile.map { try TraceRecorder(path: $0) }
        } catch let error as TraceError {
            throw CommandFailure(.failed, "the trace file cannot be written: \(error.reason)")
        }
    }

    /// Returns the issuers that may vouch for software, with the keys from the operator's file.
    private func softwareStatements() throws -> SoftwareStatementIssuers {
        guard let path = self.configuration.softwareStatements else { return SoftwareStatementIssuers() }
        guard let bytes = FileManager.default.contents(atPath: path),
            case .object(let file)? = try? JSON(parsing: bytes)
        else { throw CommandFailure(.usage, "\(path) holds no JSON object of issuers and their keys") }
        var issuers: [ExactText: JWKSet] = [:]
        for (name, value) in file.members {
            do { issuers[ExactText(name)] = try JWKSet(ofClient: value.serialized) } catch {
                throw CommandFailure(.usage, "the keys of \(name) in \(path) cannot be used: \(error.message ?? "")")
            }
        }
        return SoftwareStatementIssuers(issuers)
    }

    private func facets() throws -> [FacetID] {
        try self.configuration.facets.map { text in
            do { return try FacetID(text) } catch {
                throw CommandFailure(.usage, "\(text) is not a facet id")
            }
        }
    }

    private func proxies() throws -> [AddressBlock] {
        try ServeConfiguration.blocks(self.configuration.trustedProxies)
    }

    /// Returns a listener. A listener for strangers counts its connections in `connections`, and all such listeners
    /// share the count.
    private func application(
        _ responder: some HTTPResponder<ServerContext>, at endpoint: ServeConfiguration.Endpoint,
        _ connections: OpenConnections?, _ stop: ServerStop, _ tls: TLSChannelConfiguration?, _ limits: Limits,
        _ listening: Listening, _ logger: Logger
    ) throws -> any Service {
        let isPublic = connections != nil
        let proxies = try self.proxies()
        var builder = HTTPServerBuilder.bounded(limits, connections: connections, stop: stop) { address in
            let address = address?.ipAddress ?? "local"
            // The source is the client whose requests a proxy passes on, and not the proxy.
            return proxies.contains { $0.contains(address) } ? nil : AddressBlock.source(of: address)
        }
        if let tls { builder = try .tls(builder, configuration: tls) }
        var quiet = logger
        quiet.logLevel = isPublic ? logger.logLevel : max(logger.logLevel, .notice)
        return Application(
            responder: responder, server: builder,
            configuration: .init(
                address: .hostname(endpoint.host, port: endpoint.port), serverName: nil,
                availableConnectionsDelegate: connections),
            onServerRunning: { _ in listening.report() }, logger: quiet)
    }
}

/// The services outside this process that the server calls.
private struct OutsideServices {
    /// The service that evaluates PINs; `nil` without the service.
    let pins: PinServiceClient?
    /// The way to addresses that other parties have named.
    let calls: CheckedCalls
    /// The push services; `nil` without any.
    let push: PushSettings.Services?
}

/// Reads metadata, policies, and certificate and key again whenever the process gets SIGHUP.
private struct Reloader: Service {
    let assembly: ServerAssembly
    let identities: [TLSIdentity]
    let signals: UnixSignalsSequence
    let logger: Logger

    func run() async throws {
        for await _ in self.signals.cancelOnGracefulShutdown() {
            // The certificate comes first: the log's line about the rules reports the end of the reload, successful or
            // not.
            for identity in self.identities { identity.reload(logger: self.logger) }
            _ = try? self.assembly.reloadRules(logger: self.logger)
        }
    }
}

/// Counts the listeners that are ready.
private final class Listening: Sendable {
    /// Gives one element when all listeners are ready. The stream has no end of its own.
    let completion: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let missing: Mutex<Int>

    init(count: Int) {
        self.missing = Mutex(count)
        (self.completion, self.continuation) = AsyncStream.makeStream(of: Void.self)
    }

    var isComplete: Bool { self.missing.withLock { $0 == 0 } }

    func report() {
        let isLast = self.missing.withLock { missing in
            missing -= 1
            return missing == 0
        }
        if isLast { self.continuation.yield() }
    }
}

/// Writes the files of a first start into the data folder, and tells of the first administrator, once every listener is
/// ready. A server that cannot listen leaves nothing behind.
private struct FirstStart: Service {
    let issuer: String
    let endpoint: ServeConfiguration.Endpoint
    let folder: DataFolder
    let database: SQLStore
    let administrators: Administrators
    let listening: Listening
    let logger: Logger

    func run() async throws {
        // A service must not end before the server does, and the stream does not end either.
        for await _ in self.listening.completion.cancelOnGracefulShutdown() {
            self.logger.info("Countersign is ready at \(self.issuer), listening at \(self.endpoint)")
            // A server with a full disk must start all the same, so that people who are enrolled can sign in and read.
            do {
                try self.folder.keep(issuer: self.issuer)
                // An unchanged address is not written.
                if try await self.database.issuer() != self.issuer { try await self.database.keep(issuer: self.issuer) }
            } catch {
                self.logger.error(
                    "The address was not kept in the data folder; commands make links with it while the server is stopped",
                    metadata: ["reason": "\(error)"])
            }
            do { try await self.announceAdministratorLink() } catch {
                self.logger.error(
                    "No one-time administrator link was made; the next start makes one, and the socket needs none",
                    metadata: ["reason": "\(error)"])
            }
        }
    }

    /// Prints the one-time link if a person reads the output, otherwise leaves the link in a file for the operator.
    private func announceAdministratorLink() async throws {
        guard let secret = try await self.administrators.makeLinkIfNone() else { return }
        let link = "\(self.issuer)/admin/setup#\(secret)"
        if Terminal.isInteractive {
            Terminal.standardOutput(
                "First administrator (works once, for \(Limits().administratorLinkLifetime.components.seconds / 60) minutes):\n\n  \(link)\n"
            )
        } else {
            unlink(self.folder.administratorLinkPath)
            try SecretFile(path: self.folder.administratorLinkPath).write(link)
            // The message is a line of the log, because collectors of JSON read no other lines.
            self.logger.notice("The one-time administrator link is in \(self.folder.administratorLinkPath)")
        }
    }
}
