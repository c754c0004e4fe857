import Countersign
import Foundation
import Synchronization
import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A running Chromium and its connection. Messages of the DevTools protocol pass through a pair of files that Chromium
/// inherits (`--remote-debugging-pipe`), one JSON object each, with a zero byte after the object.
final class ChromiumProcess: Sendable {
    /// The most bytes of a message. The requested messages never contain a page's own text.
    private static let messageBytes = 4 * 1024 * 1024
    /// The time in which a browser has to end by itself.
    private static let endTime = Duration.seconds(5)

    private struct State {
        var last: Int64 = 0
        var waiting: [Int64: CheckedContinuation<JSONObject, any Error>] = [:]
        var untilEnd: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
        /// The name of the single window in messages.
        var window: String?
    }

    private let file: Int32
    private let profile: URL
    private let process = Process()
    private let state = Mutex(State())

    /// Starts a browser with an empty window. Throws ``SignInError`` `misconfigured` if the browser cannot start.
    static func start(program: String) async throws -> ChromiumProcess {
        let browser = try ChromiumProcess(program: program)
        do {
            try await browser.openWindow()
            return browser
        } catch {
            await browser.end()
            try Task.checkCancellation()
            throw SignInError(.misconfigured, "\(program) has not started")
        }
    }

    private init(program: String) throws {
        var files: [Int32] = [-1, -1]
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, kind, 0, &files) == 0 else { throw SignInError(.misconfigured, "no pair of sockets") }
        // Other programs that this program starts must not inherit either file.
        for file in files { _ = fcntl(file, F_SETFD, FD_CLOEXEC) }
        self.file = files[0]
        let other = FileHandle(fileDescriptor: files[1], closeOnDealloc: true)
        var folder = Array(
            FileManager.default.temporaryDirectory.appending(path: "web-view-XXXXXX").path(percentEncoded: false)
                .utf8CString)
        let isMade = mkdtemp(&folder) != nil
        self.profile = URL(
            fileURLWithPath: String(decoding: folder.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
        // The browser is separate from the person's other browsers, and its profile is in memory. The folder that
        // Chromium requires is deleted with the browser.
        let arguments = [
            "--user-data-dir=\(self.profile.path(percentEncoded: false))", "--incognito", "--no-first-run",
            "--no-default-browser-check",
            "--remote-debugging-pipe", "about:blank",
        ]
        self.process.executableURL = URL(fileURLWithPath: "/bin/sh")
        self.process.arguments = ["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", program] + arguments
        (self.process.standardInput, self.process.standardOutput) = (other, other)
        guard isMade, (try? self.process.run()) != nil else {
            close(self.file)
            throw SignInError(.misconfigured, "no process for a browser")
        }
        // The browser alone has its end of the connection, so this end notices when the browser is gone.
        try? other.close()
        Thread.detachNewThread { self.listen() }
    }

    private func openWindow() async throws {
        let targets = try await self.call("Target.getTargets").array("targetInfos") ?? []
        let pages = targets.compactMap { target -> String? in
            guard case .object(let target) = target, target["type"] == .string("page") else { return nil }
            return try? target.string("targetId")
        }
        guard let page = pages.first else { throw SignInError(.misconfigured, "the browser has no window") }
        let session = try await self.call("Target.attachToTarget", ["targetId": .string(page), "flatten": .bool(true)])
            .requiredString("sessionId")
        self.state.withLock { $0.window = session }
        _ = try await self.call("Page.enable")
    }

    // MARK: Asking

    /// Calls a method of the browser's window, or of the browser itself, and returns the answer. Throws ``SignInError``
    /// if the browser refuses or is gone, and `CancellationError`.
    func call(_ method: String, _ parameters: JSONObject = [:], inWindow: Bool = true) async throws -> JSONObject {
        let (number, window) = self.state.withLock {
            $0.last += 1
            return ($0.last, inWindow ? $0.window : nil)
        }
        var message: JSONObject = [
            "id": .integer(number), "method": .string(method), "params": .object(parameters),
        ]
        message["sessionId"] = window.map(JSON.string)
        let bytes = Array(JSON.object(message).text.utf8) + [0]
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isRunning = self.state.withLock { state in
                    if !state.hasEnded { state.waiting[number] = continuation }
                    return !state.hasEnded
                }
                guard isRunning else { return continuation.resume(throwing: Self.gone) }
                // The task was cancelled before the call, so nothing else would end the wait any more.
                if Task.isCancelled { return self.finish(number, .failure(CancellationError())) }
                if !self.write(bytes) { self.finish(number, .failure(Self.gone)) }
            }
        } onCancel: {
            self.finish(number, .failure(CancellationError()))
        }
    }

    private static var gone: SignInError { SignInError(.storageError, "the window was closed") }

    private func finish(_ number: Int64, _ result: Result<JSONObject, any Error>) {
        self.state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(with: result)
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        // Without this flag, a browser that is gone would end this program.
        #if os(Linux)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        return self.state.withLock { state in
            guard !state.hasEnded else { return false }
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(self.file, $0.baseAddress, $0.count, flags) }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }

    // MARK: Hearing

    /// Reads messages until the browser is gone.
    private func listen() {
        var (message, buffer): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = recv(self.file, &buffer, buffer.count, 0)
            guard count > 0, message.count + count <= Self.messageBytes else { break }
            message += buffer[..<count]
            while let end = message.firstIndex(of: 0) {
                self.hear(message[..<end])
                message.removeSubrange(...end)
            }
        }
        // A child inherits the blocked signals of the thread that made it, so another signal might never arrive.
        if self.process.isRunning { kill(self.process.processIdentifier, SIGKILL) }
        self.process.waitUntilExit()
        try? FileManager.default.removeItem(at: self.profile)
        let (waiting, untilEnd) = self.state.withLock { state in
            state.hasEnded = true
            defer { (state.waiting, state.untilEnd) = ([:], []) }
            return (Array(state.waiting.values), state.untilEnd)
        }
        close(self.file)
        for continuation in waiting { continuation.resume(throwing: Self.gone) }
        for continuation in untilEnd { continuation.resume() }
    }

    /// Handles a message, and ignores every message that nobody has asked for.
    private func hear(_ bytes: ArraySlice<UInt8>) {
        let limits = JSONLimits(bytes: Self.messageBytes, depth: 64, values: 100_000)
        guard case .object(let message)? = try? JSON(parsing: bytes, limits: limits, leavesOutNull: true),
            let number = try? message.integer("id", as: Int64.self)
        else { return }
        if let result = try? message.object("result") {
            self.finish(number, .success(result))
        } else {
            self.finish(number, .failure(SignInError(.protocolError, "the browser has refused")))
        }
    }

    // MARK: Ending

    /// Returns when the browser is gone.
    func untilEnded() async {
        await withCheckedContinuation { continuation in
            let isRunning = self.state.withLock { state in
                if !state.hasEnded { state.untilEnd.append(continuation) }
                return !state.hasEnded
            }
            if !isRunning { continuation.resume() }
        }
    }

    /// Closes the window, and returns when the browser and its profile are gone.
    func end() async {
        // The work runs in a new task, because a browser that a cancelled task has started must end too.
        await Task {
            let closing = Task { try await self.call("Browser.close", inWindow: false) }
            let lateness = Task {
                try await Task.sleep(for: Self.endTime)
                kill(self.process.processIdentifier, SIGKILL)
            }
            await self.untilEnded()
            closing.cancel()
            lateness.cancel()
        }.value
    }
}
