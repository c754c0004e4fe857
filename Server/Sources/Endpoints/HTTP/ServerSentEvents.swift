package import CeremonyEngine
import HTTPTypes
package import Hummingbird
import NIOCore
import ServiceLifecycle
import Settings
package import _Primitives

extension Response {
    /// Returns one event and the end of the stream, for a reader that goes on elsewhere.
    package static func serverSentEvent(name: String, _ document: JSONObject) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: "event: \(name)\ndata: \(JSON.object(document).text)\n\n")))
    }

    /// Returns a stream of server-sent events (HTML, section 9.2).
    ///
    /// Each element is one event with JSON data. From time to time the stream sends a comment, which keeps proxies from
    /// closing a quiet connection.
    ///
    /// The stream ends with `events`, when the other end closes the connection, when the stream's source opens more
    /// than its share, or when the server shuts down. An error of `events` ends the stream, too: the reader asks again
    /// and then gets an answer in words.
    ///
    /// Every waiting page has a stream. The connection's own task writes the stream and sleeps in between. No other
    /// task, timer or copy of the request waits for the stream.
    ///
    /// - Parameters:
    ///   - name: The type of the events.
    ///   - context: The request that the stream answers.
    ///   - events: The states to send. A slow reader gets the newest state at its next read.
    ///   - channels: The record that counts the stream.
    ///   - heartbeat: The time for which the connection may be quiet.
    ///   - heartbeatEvent: The type of an event in place of the comment, for a reader that sees no comments; `nil` for
    ///     a comment.
    ///   - document: The data of one event.
    package static func serverSentEvents<Element: Equatable & Sendable>(
        name: String, to context: ServerContext, _ events: CeremonyEvents<Element>, in channels: EventChannels,
        heartbeat: Duration, heartbeatEvent: String? = nil,
        _ document: @escaping @Sendable (Element) throws -> JSONObject
    ) -> Response {
        let (source, channel, logger) = (context.source, context.channel, context.logger)
        let quiet = heartbeatEvent.map { "event: \($0)\ndata: {}\n\n" } ?? ": still here\n\n"
        let body = ResponseBody { writer in
            // The first bytes go at once, so that the reader knows that the connection is open.
            try await writer.write(ByteBuffer(string: "retry: \(Limits.Fixed.eventRetry.milliseconds)\n\n"))
            var iterator = events.makeAsyncIterator()
            let watch = iterator.watch
            // The connection reports its end. Without the report only the next write would notice that a reader has
            // gone, and the reader would count until then.
            let place = channels.enter(watch, of: source, on: ObjectIdentifier(channel), logger: logger) { ended in
                channel.closeFuture.whenComplete { _ in ended() }
            }
            defer { channels.leave(place) }
            try await withGracefulShutdownHandler {
                // An error of the events ends the stream, as the end of the events does.
                while let news = try? await iterator.next(patience: heartbeat) {
                    switch news {
                    case .state(let element):
                        guard let data = try? JSON.object(document(element)).text else { return }
                        try await writer.write(ByteBuffer(string: "event: \(name)\ndata: \(data)\n\n"))
                    case .quiet: try await writer.write(ByteBuffer(string: quiet))
                    }
                }
            } onGracefulShutdown: { [weak watch] in
                watch?.end()
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }
}
