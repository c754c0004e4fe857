import Ceremony
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import _Primitives

/// The recorders of a run, each with a file of its own, by a clock that moves with every message.
final class RunRecorders: Sendable {
    let app: TraceRecorder
    let server: TraceRecorder
    let provider: TraceRecorder
    private let paths: [String]
    private let clock = FakeClock()
    private let step: Duration

    /// - Parameters:
    ///   - step: How long a message is on its way.
    ///   - skew: How far the app's clock is ahead of the server's.
    init(step: Duration = .milliseconds(1), appAhead skew: Duration = .zero) throws {
        let (clock, folder) = (self.clock, FileManager.default.temporaryDirectory.path)
        let paths = ["app", "server", "provider"].map { "\(folder)/run-\($0)-\(RandomSource.system.token())" }
        self.paths = paths
        self.step = step
        self.app = try TraceRecorder(path: paths[0], time: TimeSource { clock.now() + skew })
        self.server = try TraceRecorder(path: paths[1], time: clock.timeSource)
        self.provider = try TraceRecorder(path: paths[2], time: clock.timeSource)
    }

    deinit { for path in self.paths { try? FileManager.default.removeItem(atPath: path) } }

    /// A message arrives.
    func pass() { self.clock.advance(by: self.step) }

    /// A person does something: a window opens or closes, and a button is found.
    func pause() { self.clock.advance(by: .seconds(1)) }

    /// Leaves out what was recorded until now.
    func forget() throws { for path in self.paths { try Data().write(to: URL(filePath: path)) } }

    /// What was written: of the app, the server and the other provider.
    var texts: [String] { get throws { try self.paths.map { try String(contentsOfFile: $0, encoding: .utf8) } } }

    /// The run as far as a diagram tells of it.
    func drawn(_ diagram: SeedDiagram) throws -> SequenceDiagram {
        try SequenceDiagram(files: self.texts).only(diagram.events)
    }
}

/// The way of messages to a server: each takes its time.
struct Way: TestClientProtocol {
    let client: any TestClientProtocol
    let recorders: RunRecorders
    var port: Int? { nil }

    func executeRequest(uri: String, method: HTTPRequest.Method, headers: HTTPFields, body: ByteBuffer?) async throws
        -> TestResponse
    {
        self.recorders.pass()
        let response = try await self.client.executeRequest(uri: uri, method: method, headers: headers, body: body)
        self.recorders.pass()
        return response
    }
}

/// Another provider that records what it says to the person and hears of them.
struct RecordingProvider: TestClientProtocol {
    let way: Way
    var port: Int? { nil }

    func executeRequest(uri: String, method: HTTPRequest.Method, headers: HTTPFields, body: ByteBuffer?) async throws
        -> TestResponse
    {
        let recorder = self.way.recorders.provider
        if method == .post { recorder.record(.personAnsweredProvider, in: TraceContext()) }
        let response = try await self.way.executeRequest(uri: uri, method: method, headers: headers, body: body)
        if method == .get, response.text.contains("name=\"password\"") {
            recorder.record(.providerAskedPerson, in: TraceContext())
        }
        return response
    }
}
