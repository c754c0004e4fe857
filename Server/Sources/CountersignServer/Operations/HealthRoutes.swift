import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// What supervisors and load balancers ask, on a listener of its own.
struct HealthRoutes: Sendable {
    /// Throws where the store cannot make a step durable.
    let assertWritable: @Sendable () async throws -> Void

    func mount(on router: ServerRouter) {
        router.endpoint("/healthz", [.get: { _, _ in Self.text("alive\n") }])
        router.endpoint(
            "/readyz",
            [
                .get: { _, context in
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

    private static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
