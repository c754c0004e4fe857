import Endpoints
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The routes for supervisors, load balancers and monitors, on a listener of its own.
struct HealthRoutes: Sendable {
    /// Returns `true` if every listener listens.
    let isListening: @Sendable () -> Bool
    /// Throws if the store cannot make a step durable.
    let assertWritable: @Sendable () async throws -> Void
    /// The process's numbers in the text format of Prometheus.
    let metrics: @Sendable () -> String

    func mount(on router: ServerRouter) {
        router.endpoint("/healthz", get: .reads, [.get: { _, _ in Self.text("alive\n") }])
        router.endpoint(
            "/metrics", get: .reads,
            [.get: { _, _ in Self.text(self.metrics(), type: "text/plain; version=0.0.4; charset=utf-8") }])
        router.endpoint(
            "/readyz", get: .reads,
            [
                .get: { _, context in
                    guard self.isListening() else {
                        return Self.text("not every listener is there\n", status: .serviceUnavailable)
                    }
                    do {
                        try await self.assertWritable()
                        return Self.text("ready\n")
                    } catch {
                        context.logger.error("Not ready", metadata: ["reason": "\(error)"])
                        return Self.text("the store cannot be written\n", status: .serviceUnavailable)
                    }
                }
            ])
    }

    private static func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
