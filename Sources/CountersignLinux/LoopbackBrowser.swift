public import Countersign
public import Foundation
import Synchronization
import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A sign-in in the system's browser, which returns to a port of this machine (RFC 8252, section 7.3).
///
/// The kernel chooses the port for each sign-in, unless the address names a port. The port is open only during the
/// sign-in. Any program of this machine, and any page in a browser, can send requests to the port. A request that is
/// not for exactly this port, or that the caller does not accept, is turned away. A silent connection does not hold up
/// others.
///
/// Other people who use the machine at the same time can read the arguments of a started program. If a browser is
/// started with the sign-in's address, these people can therefore read the address. They cannot read the answer, but
/// they can send their own answer. On a shared machine, show the address in another way.
public struct LoopbackBrowser: WebAuthentication {
    /// The usual time limit of a sign-in.
    public static let usualTimeLimit = Duration.seconds(900)

    private let show: @Sendable (URL) throws -> Void
    private let timeLimit: Duration

    /// Creates a browser that opens addresses with the program in `BROWSER`, or else with `xdg-open`.
    public init() { self.init(opening: Self.openWithSystem) }

    /// Creates a browser.
    ///
    /// - Parameters:
    ///   - timeLimit: The time after which the sign-in counts as cancelled
    ///     (``WebAuthenticationError/Code-swift.struct/cancelled``).
    ///   - opening: Shows an address to the person, for a program without a desktop, which prints the address.
    public init(
        timeLimit: Duration = Self.usualTimeLimit, opening show: @escaping @Sendable (URL) throws -> Void
    ) {
        self.timeLimit = timeLimit
        self.show = show
    }

    /// Opens a port; see ``WebAuthentication``. The redirect address is on `127.0.0.1`, with the given port or else
    /// with any free port.
    public func prepare(for redirectURI: String) async throws -> any PreparedWebAuthentication {
        guard let parts = URLComponents(string: redirectURI), parts.scheme == "http", parts.host == "127.0.0.1",
            parts.query == nil, parts.fragment == nil
        else { throw WebAuthenticationError(.unavailable, "the redirect address is not one of 127.0.0.1") }
        guard let port = UInt16(exactly: parts.port ?? 0) else {
            throw WebAuthenticationError(.unavailable, "the redirect address has a port that there is not")
        }
        return try LoopbackSession(
            path: parts.percentEncodedPath, port: port, timeLimit: self.timeLimit, show: self.show)
    }

    private static func openWithSystem(_ address: URL) throws {
        let named = ProcessInfo.processInfo.environment["BROWSER"]?.split(separator: ":").first.map(String.init)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [named ?? "xdg-open", address.absoluteString]
        // The browser's output does not belong to this program's output.
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw WebAuthenticationError(.unavailable, "no browser could be started")
        }
    }
}

/// A listening port, for a single call back.
private final class LoopbackSession: PreparedWebAuthentication {
    /// The most callers at a time. For a further caller, the first silent caller is turned away; if every caller has
    /// sent a part of a request, the caller that connected first is turned away.
    private static let callerCount = 16

    let redirectURI: String
    private let authority: String
    private let path: String
    private let timeLimit: Duration
    private let show: @Sendable (URL) throws -> Void
    private let socket: Listener

    init(path: String, port: UInt16, timeLimit: Duration, show: @escaping @Sendable (URL) throws -> Void) throws {
        self.socket = try Listener(port: port)
        self.authority = "127.0.0.1:\(self.socket.port)"
        self.path = path.isEmpty ? "/" : path
        self.redirectURI = "http://\(self.authority)\(path)"
        self.timeLimit = timeLimit
        self.show = show
    }

    func open(_ address: URL) async throws -> String { try await self.open(address) { _ in true } }

    func open(_ address: URL, accepting isAnswer: @escaping @Sendable (String) -> Bool) async throws -> String {
        try Task.checkCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // The port listens before the browser opens, so a call cannot come too early.
                Thread.detachNewThread {
                    continuation.resume(with: Result { try self.callBack(to: address, accepting: isAnswer) })
                }
            }
        } onCancel: {
            self.socket.stop()
        }
    }

    /// Serves all connected callers at once, so a silent or slow caller does not hold up others.
    private func callBack(to address: URL, accepting isAnswer: (String) -> Bool) throws -> String {
        defer { self.socket.stop() }
        try self.show(address)
        let end = ContinuousClock.now + self.timeLimit
        var callers: [LoopbackCaller] = []
        while !self.socket.isStopped {
            let now = ContinuousClock.now
            guard now < end else { throw WebAuthenticationError(.cancelled, "nobody came back in time") }
            callers.removeAll { $0.end <= now }
            let ready = Listener.wait(
                for: [self.socket.file] + callers.map(\.file),
                until: callers.map(\.end).reduce(end, min))
            for caller in callers where ready.contains(caller.file) {
                switch caller.hear() {
                case .unfinished: continue
                case .nothing: break
                case .request(let request):
                    if let answer = self.answer(to: request, on: caller, accepting: isAnswer) { return answer }
                }
                callers.removeAll { $0 === caller }
            }
            if ready.contains(self.socket.file), let caller = try self.socket.accept() {
                if callers.count == Self.callerCount { callers.remove(at: callers.firstIndex(where: \.isSilent) ?? 0) }
                callers.append(caller)
            }
        }
        throw CancellationError()
    }

    /// Answers a request. Returns the address if the request is the awaited answer; `nil` otherwise.
    private func answer(to request: LoopbackRequest, on caller: LoopbackCaller, accepting isAnswer: (String) -> Bool)
        -> String?
    {
        // A page of another site, whose host name was redirected to this port, reveals its own name here.
        guard request.isGet,
            [self.authority, "localhost:\(self.socket.port)"].containsBytes(of: request.host.asciiLowercased)
        else {
            caller.answer("400 Bad Request", "That was not asked for.")
            return nil
        }
        // Browsers ask for an icon, and scanners ask for anything. Such callers learn nothing, and the wait goes on.
        guard request.target.splitBytes(at: "?")[0].hasSameBytes(as: self.path) else {
            caller.answer("404 Not Found", "There is nothing here.")
            return nil
        }
        let address = "http://\(self.authority)\(request.target)"
        guard isAnswer(address) else {
            caller.answer("400 Bad Request", "That is not the answer to this sign-in.")
            return nil
        }
        caller.answer("200 OK", "Go back to the app. You can close this window.")
        return address
    }
}

/// The parts of a request's head that matter here.
private struct LoopbackRequest {
    let isGet: Bool
    let target: String
    /// The value of the single field `Host`; empty if the field is missing or repeated.
    let host: String

    /// Reads a request's head; `nil` if the text is not a request of HTTP/1.
    init?(head: [UInt8]) {
        let lines = String(decoding: head, as: UTF8.self).splitBytes(at: "\n").map(Self.trimmed)
        let words = lines[0].splitBytes(at: " ")
        guard words.count == 3, words[1].utf8.first == UInt8(ascii: "/"), words[2].hasBytes(atStart: "HTTP/1.") else {
            return nil
        }
        self.isGet = words[0].hasSameBytes(as: "GET")
        self.target = String(words[1])
        let hosts = lines.dropFirst().compactMap { line -> String? in
            let field = line.splitBytes(at: ":", maxSplits: 1)
            guard field.count == 2, String(field[0]).asciiLowercased.hasSameBytes(as: "host") else { return nil }
            return Self.trimmed(field[1])
        }
        self.host = hosts.count == 1 ? hosts[0] : ""
    }

    private static func trimmed(_ text: Substring) -> String {
        var bytes = Substring(text).utf8[...]
        while let byte = bytes.first, byte == 0x20 || byte == 0x09 { bytes.removeFirst() }
        while let byte = bytes.last, byte == 0x20 || byte == 0x09 || byte == 0x0D { bytes.removeLast() }
        return String(Substring(bytes))
    }
}

/// A caller that is connected to the port.
private final class LoopbackCaller {
    /// The most bytes of a request's head.
    private static let headBytes = 16_384
    /// The time for a browser's whole request after the connection.
    private static let requestTime = Duration.seconds(5)

    enum Heard {
        case unfinished
        case nothing
        case request(LoopbackRequest)
    }

    let file: Int32
    let end = ContinuousClock.now + LoopbackCaller.requestTime
    private var bytes: [UInt8] = []

    init(file: Int32) { self.file = file }
    deinit { close(self.file) }

    /// `true` if no byte was read yet.
    var isSilent: Bool { self.bytes.isEmpty }

    /// Reads the received bytes. The answer comes only after the whole head: a connection that is closed with unread
    /// bytes is reset, and the browser then shows nothing.
    func hear() -> Heard {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(self.file, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0, self.bytes.count + count <= Self.headBytes else { return .nothing }
        self.bytes += buffer[..<count]
        guard self.isWhole else { return .unfinished }
        return LoopbackRequest(head: self.bytes).map(Heard.request) ?? .nothing
    }

    /// `true` if the empty line has arrived.
    private var isWhole: Bool {
        let lines = self.bytes.filter { $0 != 0x0D }
        return zip(lines, lines.dropFirst()).contains { $0 == 0x0A && $1 == 0x0A }
    }

    func answer(_ status: String, _ words: String) {
        let text =
            "HTTP/1.1 \(status)\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(words.utf8.count)\r\n"
            + "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n\(words)"
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { send(self.file, $0.baseAddress, $0.count, Self.sendFlags) }
    }

    #if os(Linux)
        /// Without the first flag, a browser that has gone away would end this program.
        private static let sendFlags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    #else
        private static let sendFlags = Int32(MSG_DONTWAIT)
    #endif
}

/// A listening socket on this machine's own address.
private final class Listener: Sendable {
    let port: UInt16
    let file: Int32
    private let stopped = Mutex(false)

    /// Opens the socket.
    ///
    /// - Parameter port: The port; 0 lets the kernel choose.
    init(port: UInt16) throws {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let file = socket(AF_INET, kind, 0)
        guard file >= 0 else { throw WebAuthenticationError(.unavailable, "no socket") }
        // A port that a returning browser used a moment ago counts as free.
        var isReused: Int32 = port == 0 ? 0 : 1
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(file, address, length) == 0 && listen(file, 8) == 0 && getsockname(file, address, &length) == 0
            }
        }
        guard isListening else {
            close(file)
            throw WebAuthenticationError(.unavailable, "no port of 127.0.0.1, or somebody else listens at it")
        }
        // A connection that was ready may be gone before `accept`.
        _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK)
        self.file = file
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(self.file) }

    /// Accepts the next connection; `nil` if no connection waits any more. Throws if the port is broken.
    func accept() throws -> LoopbackCaller? {
        #if canImport(Glibc)
            let connection = Glibc.accept(self.file, nil, nil)
        #elseif canImport(Musl)
            let connection = Musl.accept(self.file, nil, nil)
        #else
            let connection = Darwin.accept(self.file, nil, nil)
        #endif
        if connection >= 0 { return LoopbackCaller(file: connection) }
        guard self.isStopped || [EINTR, ECONNABORTED, EAGAIN].contains(errno) else {
            throw WebAuthenticationError(.unavailable, "the port takes nobody any more")
        }
        return nil
    }

    /// Returns the files that have data or have ended. Waits for at most a second.
    static func wait(for files: [Int32], until end: ContinuousClock.Instant) -> Set<Int32> {
        var waiting = files.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let time = max(.zero, min(end - ContinuousClock.now, .seconds(1)))
        let count = poll(&waiting, nfds_t(waiting.count), Int32(time / .milliseconds(1)) + 1)
        return count > 0 ? Set(waiting.filter { $0.revents != 0 }.map(\.fd)) : []
    }

    var isStopped: Bool { self.stopped.withLock { $0 } }

    /// Wakes a thread that waits for a connection, and accepts no more connections.
    func stop() {
        self.stopped.withLock { $0 = true }
        shutdown(self.file, Int32(SHUT_RDWR))
    }
}
