import AsyncHTTPClient
import Ceremony
import Endpoints
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import OAuth
import OAuthProvider
import Settings
import Synchronization
import _Primitives

/// Calls addresses that services have named, and only allowed addresses: https, or http to a literal loopback address;
/// no redirects; no address of a private network.
///
/// The class looks a name up and judges the addresses of the name. The connection goes to the very address that was
/// judged: a name that gets another address a moment later changes nothing. The certificate must be the name's all the
/// same.
final class CheckedCalls: OutgoingCalls {
    /// Networks without a service on the Internet (IANA's registries of special-purpose addresses).
    private static let privateNetworks = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].compactMap(AddressBlock.init)

    /// The networks that hold all other public addresses. Public IPv6 addresses lie in the second network.
    private static let globalNetworks = ["0.0.0.0/0", "2000::/3"].compactMap(AddressBlock.init)

    private static let loopbackNetworks = ["127.0.0.0/8", "::1/128"].compactMap(AddressBlock.init)

    private let allowed: [AddressBlock]
    private let allowedToDevices: [AddressBlock]
    private let limits: Limits
    private let lookUp: @Sendable (String) throws -> [String]
    private let tls: TLSConfiguration
    /// The number of calls under way to clients' addresses, for each party and host.
    private let underWay = Mutex<[OutgoingCall.Party: [ExactText: Int]]>([:])

    /// Creates the calls of a server.
    ///
    /// - Parameters:
    ///   - allowed: Private networks that the server may call at addresses of clients and of other providers.
    ///   - allowedToDevices: Private networks that the server may call at addresses that devices name.
    ///   - mayCallLoopback: `true` if the server may call programs on this machine, for a server that people reach at a
    ///     loopback address alone.
    ///   - lookUp: Returns the present addresses of a host's name. The function may block.
    init(
        allowed: [AddressBlock] = [], allowedToDevices: [AddressBlock] = [], mayCallLoopback: Bool = false,
        limits: Limits = Limits(),
        tls: TLSConfiguration = .makeClientConfiguration(),
        lookUp: @escaping @Sendable (String) throws -> [String] = CheckedCalls.systemLookUp
    ) {
        let loopback = mayCallLoopback ? Self.loopbackNetworks : []
        self.allowed = allowed + loopback
        self.allowedToDevices = allowedToDevices + loopback
        self.limits = limits
        self.tls = tls
        self.lookUp = lookUp
    }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        let target = try Target(call.address)
        if let most = self.mostCalls(of: call.party) { try self.enter(target, of: call.party, most: most) }
        defer { self.leave(target, of: call.party) }
        let deadline = ContinuousClock.now + self.limits.oauth.outgoingCallTime
        let addresses = try await self.addresses(of: target)
        guard !addresses.isEmpty else {
            throw OutgoingCallError("its host \(target.host) stands for no address")
        }
        for address in addresses {
            guard self.mayCall(address, of: call.party) else {
                throw OutgoingCallError(
                    "its host \(target.host) stands for \(address), which is private: \(call.party.networksOption) allows networks of your own"
                )
            }
        }
        let tried = Array(addresses.prefix(Limits.Fixed.triedAddresses))
        return try await self.send(call, to: target, at: tried, until: deadline)
    }

    /// The error for an address without a connection: the server has sent no part of the call.
    private struct NoConnection: Error {
        let reason: String
    }

    /// Tries the addresses of a host one after the other, until a connection is made.
    ///
    /// A host with an IPv6 address may be reachable by IPv4 alone. The server never sends a call again.
    private func send(
        _ call: OutgoingCall, to target: Target, at addresses: [String], until deadline: ContinuousClock.Instant
    ) async throws -> OutgoingAnswer {
        var reason = "there is no connection to it"
        for (index, address) in addresses.enumerated() {
            do {
                return try await self.send(
                    call, to: target, at: address, sharedBy: addresses.count - index, until: deadline)
            } catch let error as NoConnection { reason = error.reason }
        }
        throw OutgoingCallError(reason)
    }

    /// Any person can have a device name an address, so the networks of the operator's clients are closed to devices.
    private func mayCall(_ address: String, of party: OutgoingCall.Party) -> Bool {
        let allowed = party == .device ? self.allowedToDevices : self.allowed
        if allowed.contains(where: { $0.contains(address) }) { return true }
        return Self.globalNetworks.contains { $0.contains(address) }
            && !Self.privateNetworks.contains { $0.contains(address) }
    }

    /// Returns the number of calls to a party that can be under way at once, to one host and in all; `nil` if the callers
    /// bound their calls.
    private func mostCalls(of party: OutgoingCall.Party) -> (perHost: Int, all: Int)? {
        switch party {
        case .client: (self.limits.oauth.outgoingCallsPerHost, self.limits.oauth.outgoingCalls)
        case .clientDocument: (self.limits.oauth.outgoingCallsPerHost, self.limits.oauth.clientDocumentCalls)
        case .device: (self.limits.push.callsPerNamedHost, self.limits.deviceMessagesAtOncePerDispatcher)
        case .provider: nil
        }
    }

    private func enter(_ target: Target, of party: OutgoingCall.Party, most: (perHost: Int, all: Int)) throws {
        try self.underWay.withLock { underWay in
            let key = ExactText(target.host)
            let calls = underWay[party] ?? [:]
            let (here, all) = (calls[key] ?? 0, calls.values.reduce(0, +))
            guard here < most.perHost, all < most.all else {
                throw OutgoingCallError("too many calls are under way, \(here) to \(target.host)")
            }
            underWay[party, default: [:]][key] = here + 1
        }
    }

    private func leave(_ target: Target, of party: OutgoingCall.Party) {
        self.underWay.withLock { underWay in
            let key = ExactText(target.host)
            guard let count = underWay[party]?[key] else { return }
            underWay[party]?[key] = count > 1 ? count - 1 : nil
        }
    }

    // MARK: Names

    /// Looks a host's name up on a thread of its own: the system's resolver blocks. The server waits for the resolver
    /// no longer than the time of a call.
    private func addresses(of target: Target) async throws -> [String] {
        if target.isLiteral { return [target.host] }
        let (host, lookUp) = (target.host, self.lookUp)
        let time = self.limits.oauth.outgoingCallTime
        return try await withCheckedThrowingContinuation { continuation in
            let answer = FirstAnswer(continuation)
            Thread { answer.settle(Result { try lookUp(host) }) }.start()
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds))) {
                answer.settle(.failure(OutgoingCallError("its host \(host) is not found in time")))
            }
        }
    }

    /// Returns the addresses that the system's resolver knows.
    @Sendable static func systemLookUp(_ host: String) throws -> [String] {
        var hints = addrinfo()
        hints.ai_flags = AI_ADDRCONFIG
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else {
            throw OutgoingCallError(
                "its host \(host) is not found: is the name right, and does this machine look names up?")
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let found = entry?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            if getnameinfo(found.ai_addr, found.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0 {
                // An IPv6 address may name its interface.
                let bytes = text.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: "%")) }.map { UInt8(bitPattern: $0) }
                addresses.append(String(decoding: bytes, as: UTF8.self))
            }
            entry = found.ai_next
        }
        return addresses
    }

    // MARK: The call

    /// - Parameter count: The remaining addresses, which share the time for a connection.
    private func send(
        _ call: OutgoingCall, to target: Target, at address: String, sharedBy count: Int,
        until deadline: ContinuousClock.Instant
    ) async throws -> OutgoingAnswer {
        let left = deadline - ContinuousClock.now
        guard left > .zero else { throw OutgoingCallError("it does not answer in time") }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: self.tls, redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(left / count)))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        if !target.isLiteral { configuration.dnsOverride = [target.host: address] }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<OutgoingAnswer, any Error>
        do {
            // The HTTP client's own time ends with the head of the answer: a body that never comes would hold the call
            // for ever.
            let answer = try await withThrowingTaskGroup(of: OutgoingAnswer.self) { group in
                group.addTask { try await Self.send(call, to: target, over: client, within: left) }
                group.addTask {
                    try await Task.sleep(for: left)
                    throw OutgoingCallError("it does not answer in time")
                }
                defer { group.cancelAll() }
                guard let first = try await group.next() else { throw OutgoingCallError("it does not answer in time") }
                return first
            }
            result = .success(answer)
        } catch {
            result = .failure(error)
        }
        // An HTTP client that is not shut down ends the program.
        try? await client.shutdown()
        return try result.get()
    }

    /// The errors of `connect(2)` for an address that cannot be reached. An established connection gives none of these
    /// errors within the time of a call.
    private static let refusals: Set<CInt> = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL]

    private static func send(_ call: OutgoingCall, to target: Target, over client: HTTPClient, within time: Duration)
        async throws -> OutgoingAnswer
    {
        var request = HTTPClientRequest(url: target.text)
        request.headers.add(name: "Accept", value: "application/json")
        // Some providers refuse calls without the name of the calling program.
        request.headers.add(name: "User-Agent", value: "Countersign/\(ProductRelease.version)")
        switch call.content {
        case .none: request.method = .GET
        case .form(let form):
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: form))
        case .json(let bytes):
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: bytes))
        case .bytes(let bytes, let fields):
            request.method = .POST
            for field in fields { request.headers.add(name: field.name, value: field.value) }
            request.body = .bytes(ByteBuffer(bytes: bytes))
        }
        if let authorization = call.authorization { request.headers.add(name: "Authorization", value: authorization) }
        do {
            let response = try await client.execute(request, timeout: TimeAmount(time))
            var body: [UInt8] = []
            if let longest = call.longestAnswer {
                body = Array(try await response.body.collect(upTo: longest).readableBytesView)
            }
            return OutgoingAnswer(
                status: Int(response.status.code), body: body,
                mediaType: Self.mediaType(response.headers.first(name: "Content-Type")),
                mayBeKept: Self.age(response.headers[canonicalForm: "Cache-Control"].map(String.init)),
                retryAfter: response.headers.first(name: "Retry-After"))
        } catch is NIOTooManyBytesError {
            throw OutgoingCallError("its answer has more than \(call.longestAnswer ?? 0) bytes")
        } catch let error as HTTPClientError where error == .connectTimeout {
            throw NoConnection(reason: "it does not answer (\(error.shortDescription))")
        } catch let error as HTTPClientError {
            throw OutgoingCallError("it does not answer (\(error.shortDescription))")
        } catch let error as IOError where Self.refusals.contains(error.errnoCode) {
            throw NoConnection(reason: "there is no connection to it")
        } catch is NIOSSLExtraError {
            throw OutgoingCallError("its certificate is for another name than \(target.host)")
        } catch is NIOSSLError {
            throw OutgoingCallError("its certificate is not one that this machine trusts, or it does not speak TLS")
        } catch {
            throw OutgoingCallError("there is no connection to it")
        }
    }

    /// Returns the type of a body without its parameters (RFC 9110, section 8.3.1).
    private static func mediaType(_ field: String?) -> String? {
        field.map { String($0.prefix { $0 != ";" && $0 != " " && $0 != "\t" }).asciiLowercased }
    }

    /// Returns `max-age`, in the form that nearly all servers send; zero for an answer that must not be kept, and `nil`
    /// if the answer says neither.
    private static func age(_ directives: [String]) -> Duration? {
        for directive in directives.map(\.asciiLowercased) {
            if directive.hasSameBytes(as: "no-store") || directive.hasSameBytes(as: "no-cache") { return .zero }
            if directive.hasBytes(atStart: "max-age="), let seconds = UInt32(directive.dropFirst(8)) {
                return .seconds(Int64(seconds))
            }
        }
        return nil
    }
}

extension OutgoingCall.Party {
    /// The option of `countersign serve` that opens private networks to the addresses of the party.
    fileprivate var networksOption: String { self == .device ? "--push-networks" : "--outgoing-networks" }
}

/// The target of a call, rebuilt from its parts: the server calls exactly the address that was judged.
private struct Target {
    /// The host, without brackets.
    let host: String
    /// `true` if the host is an address and no name.
    let isLiteral: Bool
    let text: String

    init(_ address: String) throws {
        guard (try? RedirectURI(address)) != nil, let parts = URLComponents(string: address),
            let written = parts.percentEncodedHost?.asciiLowercased
        else { throw OutgoingCallError("its address is not https, or http to a literal loopback address") }
        let host = written.hasPrefix("[") ? String(written.dropFirst().dropLast()) : written
        let isPlain = host.utf8.allSatisfy { byte in
            (0x30...0x3A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }
        guard isPlain, !host.isEmpty, let scheme = parts.scheme?.asciiLowercased else {
            throw OutgoingCallError("its host has letters that a name in DNS has not")
        }
        self.host = host
        self.isLiteral = AddressBlock(host) != nil
        let port = parts.port.map { ":\($0)" } ?? ""
        let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
        self.text =
            "\(scheme)://\(host.contains(":") ? "[\(host)]" : host)\(port)\(parts.percentEncodedPath)\(query)"
    }
}

/// A continuation that the first of two answers resumes.
private final class FirstAnswer: Sendable {
    private let continuation: Mutex<CheckedContinuation<[String], any Error>?>

    init(_ continuation: CheckedContinuation<[String], any Error>) { self.continuation = Mutex(continuation) }

    func settle(_ result: Result<[String], any Error>) {
        let waiting = self.continuation.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        waiting?.resume(with: result)
    }
}
