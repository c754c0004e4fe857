package import CeremonyEngine
import HTTPTypes
package import Hummingbird
import NIOCore
import ServiceLifecycle
import Settings
package import _Primitives

/// The way in which a reader resumes a stream of states after its connection broke (HTML, section 9.2).
package struct EventResumption<Element>: Sendable {
    /// The identifier of the last event that the reader has; `nil` for a reader that has none.
    let last: String?
    /// Returns the identifier of a state's event: without line breaks, and the same for the same state.
    let identifier: @Sendable (Element) -> String

    /// Creates the way to resume. A state that the reader has is not sent again.
    package init(after last: String?, identifier: @escaping @Sendable (Element) -> String) {
        self.last = last
        self.identifier = identifier
    }

    /// Returns the line that names a state's event; `nil` if the reader has the state already.
    fileprivate func line(for element: Element) -> String? {
        let identifier = self.identifier(element)
        return self.last?.hasSameBytes(as: identifier) == true ? nil : "id: \(identifier)\n"
    }
}

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
    ///   - owner: The owner of the stream; `nil` for the source of the request.
    ///   - replacedEvent: The type of the last event of a stream whose place another stream has taken; `nil` for no such
    ///     event.
    ///   - resumption: The way in which a reader resumes; `nil` for events without identifiers: then each reader gets
    ///     the present state first.
    ///   - document: The data of one event.
    package static func serverSentEvents<Element: Equatable & Sendable>(
        name: String, to context: ServerContext, _ events: CeremonyEvents<Element>, in channels: EventChannels,
        heartbeat: Duration, heartbeatEvent: String? = nil, owner: EventChannels.Owner? = nil,
        replacedEvent: String? = nil, resumption: EventResumption<Element>? = nil,
        _ document: @escaping @Sendable (Element) throws -> JSONObject
    ) -> Response {
        self.serverSentEvents(
            to: context, events, in: channels, heartbeat: heartbeat, heartbeatEvent: heartbeatEvent, owner: owner,
            replacedEvent: replacedEvent, resumption: resumption
        ) { (name, try document($0)) }
    }

    /// Returns a stream as the function with one `name` for all events does, with the type of each event from `event`.
    package static func serverSentEvents<Element: Equatable & Sendable>(
        to context: ServerContext, _ events: CeremonyEvents<Element>, in channels: EventChannels,
        heartbeat: Duration, heartbeatEvent: String? = nil, owner: EventChannels.Owner? = nil,
        replacedEvent: String? = nil, resumption: EventResumption<Element>? = nil,
        event: @escaping @Sendable (Element) throws -> (name: String, document: JSONObject)
    ) -> Response {
        let (channel, logger) = (context.channel, context.logger)
        let owner = owner ?? .source(context.source)
        let quiet = heartbeatEvent.map { "event: \($0)\ndata: {}\n\n" } ?? ": still here\n\n"
        let body = ResponseBody { writer in
            // The first bytes go at once, so that the reader knows that the connection is open.
            try await writer.write(ByteBuffer(string: "retry: \(Limits.Fixed.eventRetry.milliseconds)\n\n"))
            var iterator = events.makeAsyncIterator()
            let watch = iterator.watch
            // The connection reports its end. Without the report only the next write would notice that a reader has
            // gone, and the reader would count until then.
            let place = channels.enter(watch, of: owner, on: ObjectIdentifier(channel), logger: logger) { ended in
                channel.closeFuture.whenComplete { _ in ended() }
            }
            channel.count(for: owner)
            defer {
                channels.leave(place)
                channel.endCount(for: owner)
            }
            try await withGracefulShutdownHandler {
                // An error of the events ends the stream, as the end of the events does.
                while let news = try? await iterator.next(patience: heartbeat) {
                    switch news {
                    case .state(let element):
                        guard let line = resumption.map({ $0.line(for: element) }) ?? "" else { continue }
                        guard let (name, document) = try? event(element) else { return }
                        try await writer.write(
                            ByteBuffer(string: "event: \(name)\n\(line)data: \(JSON.object(document).text)\n\n"))
                    case .quiet: try await writer.write(ByteBuffer(string: quiet))
                    }
                }
            } onGracefulShutdown: { [weak watch] in
                watch?.end()
            }
            if watch.isReplaced, let replacedEvent {
                try await writer.write(ByteBuffer(string: "event: \(replacedEvent)\ndata: {}\n\n"))
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }
}

/// The signal of a stream to the listener: the connection counts for a device's account from now on, or for its source
/// again.
public struct ConnectionOwnerChange: Sendable {
    /// The account; `nil` for the source of the connection.
    public let accountID: String?
}

extension Channel {
    /// Tells the listener that the connection counts for the account of a device, while the device's stream goes on.
    fileprivate func count(for owner: EventChannels.Owner) {
        guard case .device(_, let accountID) = owner else { return }
        self.triggerUserOutboundEvent(ConnectionOwnerChange(accountID: accountID), promise: nil)
    }

    /// Tells the listener that the connection counts for its source again.
    fileprivate func endCount(for owner: EventChannels.Owner) {
        guard case .device = owner else { return }
        self.triggerUserOutboundEvent(ConnectionOwnerChange(accountID: nil), promise: nil)
    }
}
