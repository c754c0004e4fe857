import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import _Primitives

extension Response {
    /// A stream of server-sent events (HTML, section 9.2): one event an element, JSON data, and a comment now and then
    /// that keeps proxies from closing a quiet connection.
    ///
    /// It ends with `events`, when the other end closes the connection, or when the server shuts down. An error of
    /// `events` ends it too: the reader asks again and is then answered in words.
    ///
    /// - Parameters:
    ///   - name: The type of the events.
    ///   - request: The request that this answers; its body is consumed.
    ///   - events: What is told. A slow reader loses the oldest of more than 64 untold events, which only name states.
    ///   - heartbeat: How long the connection may be quiet.
    ///   - document: The data of one event.
    static func serverSentEvents<Events: AsyncSequence & Sendable>(
        name: String, to request: Request, _ events: Events, heartbeat: Duration = .seconds(15),
        _ document: @escaping @Sendable (Events.Element) throws -> JSONObject
    ) -> Response where Events.Element: Sendable {
        let body = ResponseBody { writer in
            // Sent at once, so that the reader knows that it is connected.
            try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
            // Without this a reader that has gone would be noticed only by the next write, and count as one till then.
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                let (parts, untold) = AsyncStream.makeStream(
                    of: ByteBuffer.self, bufferingPolicy: .bufferingNewest(64))
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        defer { untold.finish() }
                        // An error of the events ends the stream as their end does.
                        _ = try? await {
                            for try await event in events.cancelOnGracefulShutdown() {
                                let data = JSON.object(try document(event)).text
                                untold.yield(ByteBuffer(string: "event: \(name)\ndata: \(data)\n\n"))
                            }
                        }()
                    }
                    group.addTask {
                        while (try? await Task.sleep(for: heartbeat)) != nil {
                            untold.yield(ByteBuffer(string: ": still here\n\n"))
                        }
                    }
                    for await part in parts where (try? await writer.write(part)) == nil { break }
                    group.cancelAll()
                }
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }
}
