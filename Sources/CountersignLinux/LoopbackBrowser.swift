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

/// Signing in by the system's browser, which comes back to a port of this machine (RFC 8252, section 7.3).
///
/// The port is the one that the kernel gives for this one sign-in, unless the address names one, and is open no longer than it
/// lasts. What comes there is
/// anybody's of this machine, and of any page that a browser shows: a request that is not for this very port, or that the
/// caller does not accept, is sent away, and one that says nothing holds nobody else up.
///
/// Other people who use this machine at the same time can read how a program was started, and so the sign-in's address,
/// where a browser is started with it. They cannot read the answer, but can give one of their own: on a machine that people
/// share, show the address in another way.
public struct LoopbackBrowser: WebAuthentication {
    /// How long a person usually has for a sign-in.
    public static let usualTimeLimit = Duration.seconds(900)

    private let show: @Sendable (URL) throws -> Void
    private let timeLimit: Duration

    /// Opens addresses with the program that `BROWSER` names, else with `xdg-open`.
    public init() { self.init(opening: Self.openWithSystem) }

    /// - Parameters:
    ///   - timeLimit: How long the person has until the sign-in counts as given up
    ///     (``WebAuthenticationError/Code-swift.struct/cancelled``).
    ///   - opening: Shows an address to the person: for a program without a desktop, which prints it.
    public init(
        timeLimit: Duration = Self.usualTimeLimit, opening show: @escaping @Sendable (URL) throws -> Void
    ) {
        self.timeLimit = timeLimit
        self.show = show
    }

    /// Opens a port; see ``WebAuthentication``. The address is of `127.0.0.1`; the port that it names, or else any that is free.
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
        // What the browser says is not this program's.
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw WebAuthenticationError(.unavailable, "no browser could be started")
        }
    }
}

/// A listening port and the one call that it takes.
private final class LoopbackSession: PreparedWebAuthentication {
    /// Callers that are listened to at a time. With one more, the one who has said nothing for longest is sent away.
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
                // The port is listened at before the browser is opened, so a call cannot come too early.
                Thread.detachNewThread {
                    continuation.resume(with: Result { try self.callBack(to: address, accepting: isAnswer) })
                }
            }
        } onCancel: {
            self.socket.stop()
        }
    }

    /// All who are connected are heard at once: whoever says nothing, or speaks slowly, keeps nobody else waiting.
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
                if callers.count == Self.callerCount { callers.removeFirst() }
                callers.append(caller)
            }
        }
        throw CancellationError()
    }

    /// Tells the caller what became of the request; the address where it is the answer that is waited for.
    private func answer(to request: LoopbackRequest, on caller: LoopbackCaller, accepting isAnswer: (String) -> Bool)
        -> String?
    {
        // A page elsewhere whose name was made to lead here names itself.
        guard request.isGet,
            [self.authority, "localhost:\(self.socket.port)"].containsBytes(of: request.host.asciiLowercased)
        else {
            caller.answer("400 Bad Request", "That was not asked for.")
            return nil
        }
        // Browsers ask for an icon, and scanners for anything: they are told nothing, and the wait goes on.
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

/// The head of a request, as far as it counts here.
private struct LoopbackRequest {
    let isGet: Bool
    let target: String
    /// The one field `Host`; empty where there is none, or more than one.
    let host: String

    /// `nil` for what is no request of HTTP/1.
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

/// Somebody who is connected to the port.
private final class LoopbackCaller {
    /// Bytes of a request's head that are read at most.
    private static let headBytes = 16_384
    /// How long a browser has for the whole of its request, once it is connected.
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

    /// Takes what has come. The whole head is read before it is answered: a connection that is closed with something unread
    /// is reset, and the browser shows nothing.
    func hear() -> Heard {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(self.file, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0, self.bytes.count + count <= Self.headBytes else { return .nothing }
        self.bytes += buffer[..<count]
        guard self.isWhole else { return .unfinished }
        return LoopbackRequest(head: self.bytes).map(Heard.request) ?? .nothing
    }

    /// Whether the empty line has come.
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
        /// Without the first, a browser that has gone away would end this program.
        private static let sendFlags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    #else
        private static let sendFlags = Int32(MSG_DONTWAIT)
    #endif
}

/// A socket of this machine's own address.
private final class Listener: Sendable {
    let port: UInt16
    let file: Int32
    private let stopped = Mutex(false)

    /// - Parameter port: Where; 0 lets the kernel choose.
    init(port: UInt16) throws {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let file = socket(AF_INET, kind, 0)
        guard file >= 0 else { throw WebAuthenticationError(.unavailable, "no socket") }
        // A port that was used a moment ago, by a browser that came back there, is free.
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
        // What was ready may be gone when it is taken.
        _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK)
        self.file = file
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(self.file) }

    /// Whoever is connected next; `nil` where there is nobody any more. Throws where the port is broken.
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

    /// Which of the files have something to read, or have come to an end. Waits no longer than a second.
    static func wait(for files: [Int32], until end: ContinuousClock.Instant) -> Set<Int32> {
        var waiting = files.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let time = max(.zero, min(end - ContinuousClock.now, .seconds(1)))
        let count = poll(&waiting, nfds_t(waiting.count), Int32(time / .milliseconds(1)) + 1)
        return count > 0 ? Set(waiting.filter { $0.revents != 0 }.map(\.fd)) : []
    }

    var isStopped: Bool { self.stopped.withLock { $0 } }

    /// Wakes whoever waits for a connection, and takes none any more.
    func stop() {
        self.stopped.withLock { $0 = true }
        shutdown(self.file, Int32(SHUT_RDWR))
    }
}
