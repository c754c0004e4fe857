public import Records
public import UAF

/// A dispatcher that delivers a message to a single device, after the ceremony is written.
///
/// A type conforms to ``DeviceDispatcher`` if its targets are the devices that the server knows, and to
/// ``TargetedDispatcher`` if it has targets of its own.
public protocol DeliveringDispatcher: Dispatcher {
    /// Delivers a message. The ceremony is written by then, with the message: a phone that has the message can redeem
    /// the token. The back end has its answer, and does not wait.
    ///
    /// After an error the engine calls the function again, later each time, until the token has expired or a phone has
    /// redeemed the token. A node that is killed during the call leads to a further call, too, so a target can get a
    /// message twice. A call that lasts for ``Limits/deviceMessageLease`` is cancelled, is not waited for any longer, and
    /// counts as a failed call. Each dispatcher has ``Limits/deviceMessagesAtOncePerDispatcher`` calls under way, and a
    /// call without an end keeps only the messages of its own dispatcher waiting.
    func deliver(_ message: DispatchMessage) async throws
}

extension DeliveringDispatcher {
    public var channel: DispatchChannel { .device }
}

/// A dispatcher whose targets are the devices that the server knows (decision 114).
///
/// The token of an operation to a device is redeemed together with the device's own proof, and with nothing else
/// (decision 129). So the token is worth nothing to the back end, to the dispatcher's provider, and to any other reader of
/// the message.
///
/// A back end names a device by the identifier that the back end knows (`dispatchTargetId`), which is another one for
/// each client. The engine finds the device, which is a device of the named person that has chosen this dispatcher. For
/// every other identifier the engine answers `dispatchTargetNotFound`. For a device that may not authenticate any more,
/// and for a device without a dispatcher, the engine answers `dispatchTargetExpired`.
public protocol DeviceDispatcher: DeliveringDispatcher {
    /// Says what is delivered to a device later. The engine calls the function before the ceremony is written. A message
    /// goes to the device, whatever target the message has: ``DispatchMessage/target`` of the delivered message is the
    /// device's identifier at this server.
    ///
    /// Throws as ``Dispatcher/dispatcherInformation(for:)``.
    func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) async throws -> DispatchDelivery
}
