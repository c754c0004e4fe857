public import Records

/// Shows an operation on the device's own stream, and in the device's own list (`device-stream`, decision 115).
///
/// The dispatcher delivers nothing: the device reads what waits by its own proof, with a token of its own. The engine
/// wakes the device's streams when the ceremony is written. Each dispatch to a device is also in the device's list,
/// whichever dispatcher sends the message: a device that has lost a push finds the operation.
public struct DeviceStreamDispatcher: DeviceDispatcher {
    public let name = "device-stream"

    /// Creates the dispatcher.
    public init() {}

    public func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation {
        DispatcherInformation()
    }

    /// Returns an empty message. A device without keys of its own can prove nothing, and has no list.
    public func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) -> DispatchDelivery {
        guard device.encryptionKey != nil else { return .targetExpired }
        return .message(DispatchMessage(target: device.deviceID, content: []))
    }

    public func deliver(_ message: DispatchMessage) {}
}
