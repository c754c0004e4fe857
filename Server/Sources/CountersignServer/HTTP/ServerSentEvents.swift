import HTTPTypes
import Hummingbird
import NIOCore
import _Primitives

extension Response {
    /// A stream of server-sent events (HTML, section 9.2): one event an element, JSON data, and a comment now and then
    /// that keeps proxies from closing a quiet connection. It ends with `events`, or with the connection.
    ///
    /// An error of `events` ends the stream: the browser asks again and is then answered in words.
    static func serverSentEvents<Element: Sendable>(
        name: String, _ events: AsyncThrowingStream<Element, any Error>, heartbeat: Duration = .seconds(15),
        _ document: @escaping @Sendable (Element) throws -> JSONObject
    ) -> Response {
        let body = ResponseBody { writer in
            var writer = writer
            // Two producers, one writer: the merged stream is bounded by what the reader leaves unread.
            let (parts, continuation) = AsyncStream.makeStream(of: ByteBuffer.self, bufferingPolicy: .bufferingNewest(64))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do {
                        for try await event in events {
                            let data = JSON.object(try document(event)).text
                            continuation.yield(ByteBuffer(string: "event: \(name)\ndata: \(data)\n\n"))
                        }
                    } catch {}
                    continuation.finish()
                }
                group.addTask {
                    while !Task.isCancelled {
                        try await Task.sleep(for: heartbeat)
                        continuation.yield(ByteBuffer(string: ": still here\n\n"))
                    }
                }
                // Sent at once, so that the browser knows that it is connected.
                try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
                for await part in parts { try await writer.write(part) }
                group.cancelAll()
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }
}
