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

/// A running Chromium, and what is said to it: messages of the DevTools protocol over a pair of files that it inherits
/// (`--remote-debugging-pipe`), a JSON object each, with a zero byte after it.
final class ChromiumProcess: Sendable {
    /// Bytes of a message that is read at most. A page's own text is in none of those that are asked for.
    private static let messageBytes = 4 * 1024 * 1024
    /// How long a browser has to end by itself.
    private static let endTime = Duration.seconds(5)

    private struct State {
        var last: Int64 = 0
        var waiting: [Int64: CheckedContinuation<JSONObject, any Error>] = [:]
        var untilEnd: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
        /// What names the one window in messages.
        var window: String?
    }

    private let file: Int32
    private let profile: URL
    private let process = Process()
    private let state = Mutex(State())

    /// Starts a browser with an empty window. Throws ``SignInError`` `misconfigured` where that cannot be.
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
        // Neither is for another program that this one starts.
        for file in files { _ = fcntl(file, F_SETFD, FD_CLOEXEC) }
        self.file = files[0]
        let other = FileHandle(fileDescriptor: files[1], closeOnDealloc: true)
        var folder = Array(
            FileManager.default.temporaryDirectory.appending(path: "web-view-XXXXXX").path(percentEncoded: false)
                .utf8CString)
        let isMade = mkdtemp(&folder) != nil
        self.profile = URL(
            fileURLWithPath: String(decoding: folder.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
        // A browser of its own beside those that the person has, whose profile is in memory; what it must have as a folder
        // goes with it.
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
        // Where the browser alone has its end, this end hears when it is gone.
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

    /// Has the browser's window do something, or the browser itself, and gives what it answers. Throws ``SignInError`` where
    /// it refuses, or is gone.
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
                // Asked for by a task that was cancelled before: nobody would end the wait any more.
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

    /// Reads until the browser is gone.
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
        // A child has the blocked signals of the thread that made it, so that it may never hear of another signal.
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

    /// What nobody has asked for is not listened to.
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
        // In a task of its own: what a cancelled one has started must go, too.
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
