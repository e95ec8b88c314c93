/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of the interface that programs written for Mercury 2.4 call:
 * return type, name, parameters. Include with FUNCTION defined. Talaria's own
 * functions are in talaria.h. */

/* na.h */
FUNCTION(void, NA_Version_get, unsigned int *, unsigned int *, unsigned int *)
FUNCTION(
    na_return_t, NA_Get_protocol_info, const char *, struct na_protocol_info **)
FUNCTION(void, NA_Free_protocol_info, struct na_protocol_info *)
FUNCTION(na_class_t *, NA_Initialize, const char *, bool)
FUNCTION(na_class_t *, NA_Initialize_opt, const char *, bool,
    const struct na_init_info *)
FUNCTION(na_class_t *, NA_Initialize_opt2, const char *, bool, unsigned int,
    const struct na_init_info *)
FUNCTION(na_return_t, NA_Finalize, na_class_t *)
FUNCTION(void, NA_Cleanup, void)
FUNCTION(bool, NA_Has_opt_feature, na_class_t *, unsigned long)
FUNCTION(void, NA_Set_log_level, const char *)
FUNCTION(void, NA_Diag_dump_counters, void)
FUNCTION(const char *, NA_Get_class_name, const na_class_t *)
FUNCTION(const char *, NA_Get_class_protocol, const na_class_t *)
FUNCTION(bool, NA_Is_listening, const na_class_t *)
FUNCTION(na_context_t *, NA_Context_create, na_class_t *)
FUNCTION(na_context_t *, NA_Context_create_id, na_class_t *, uint8_t)
FUNCTION(na_return_t, NA_Context_destroy, na_class_t *, na_context_t *)
FUNCTION(unsigned int, NA_Context_get_completion_count, const na_context_t *)
FUNCTION(na_op_id_t *, NA_Op_create, na_class_t *, unsigned long)
FUNCTION(void, NA_Op_destroy, na_class_t *, na_op_id_t *)
FUNCTION(na_return_t, NA_Addr_lookup, na_class_t *, const char *, na_addr_t **)
FUNCTION(na_return_t, NA_Addr_free, na_class_t *, na_addr_t *)
FUNCTION(na_return_t, NA_Addr_set_remove, na_class_t *, na_addr_t *)
FUNCTION(na_return_t, NA_Addr_self, na_class_t *, na_addr_t **)
FUNCTION(na_return_t, NA_Addr_dup, na_class_t *, na_addr_t *, na_addr_t **)
FUNCTION(bool, NA_Addr_cmp, na_class_t *, na_addr_t *, na_addr_t *)
FUNCTION(bool, NA_Addr_is_self, na_class_t *, na_addr_t *)
FUNCTION(
    na_return_t, NA_Addr_to_string, na_class_t *, char *, size_t *, na_addr_t *)
FUNCTION(size_t, NA_Addr_get_serialize_size, na_class_t *, na_addr_t *)
FUNCTION(
    na_return_t, NA_Addr_serialize, na_class_t *, void *, size_t, na_addr_t *)
FUNCTION(na_return_t, NA_Addr_deserialize, na_class_t *, na_addr_t **,
    const void *, size_t, uint64_t)
FUNCTION(size_t, NA_Msg_get_max_unexpected_size, const na_class_t *)
FUNCTION(size_t, NA_Msg_get_max_expected_size, const na_class_t *)
FUNCTION(size_t, NA_Msg_get_unexpected_header_size, const na_class_t *)
FUNCTION(size_t, NA_Msg_get_expected_header_size, const na_class_t *)
FUNCTION(na_tag_t, NA_Msg_get_max_tag, const na_class_t *)
FUNCTION(void *, NA_Msg_buf_alloc, na_class_t *, size_t, unsigned long, void **)
FUNCTION(void, NA_Msg_buf_free, na_class_t *, void *, void *)
FUNCTION(na_return_t, NA_Msg_init_unexpected, na_class_t *, void *, size_t)
FUNCTION(na_return_t, NA_Msg_send_unexpected, na_class_t *, na_context_t *,
    na_cb_t, void *, const void *, size_t, void *, na_addr_t *, uint8_t,
    na_tag_t, na_op_id_t *)
FUNCTION(na_return_t, NA_Msg_recv_unexpected, na_class_t *, na_context_t *,
    na_cb_t, void *, void *, size_t, void *, na_op_id_t *)
FUNCTION(na_return_t, NA_Msg_multi_recv_unexpected, na_class_t *,
    na_context_t *, na_cb_t, void *, void *, size_t, void *, na_op_id_t *)
FUNCTION(na_return_t, NA_Msg_init_expected, na_class_t *, void *, size_t)
FUNCTION(na_return_t, NA_Msg_send_expected, na_class_t *, na_context_t *,
    na_cb_t, void *, const void *, size_t, void *, na_addr_t *, uint8_t,
    na_tag_t, na_op_id_t *)
FUNCTION(na_return_t, NA_Msg_recv_expected, na_class_t *, na_context_t *,
    na_cb_t, void *, void *, size_t, void *, na_addr_t *, uint8_t, na_tag_t,
    na_op_id_t *)
FUNCTION(na_return_t, NA_Mem_handle_create, na_class_t *, void *, size_t,
    unsigned long, na_mem_handle_t **)
FUNCTION(na_return_t, NA_Mem_handle_create_segments, na_class_t *,
    struct na_segment *, size_t, unsigned long, na_mem_handle_t **)
FUNCTION(void, NA_Mem_handle_free, na_class_t *, na_mem_handle_t *)
FUNCTION(size_t, NA_Mem_handle_get_max_segments, const na_class_t *)
FUNCTION(na_return_t, NA_Mem_register, na_class_t *, na_mem_handle_t *,
    enum na_mem_type, uint64_t)
FUNCTION(na_return_t, NA_Mem_deregister, na_class_t *, na_mem_handle_t *)
FUNCTION(
    size_t, NA_Mem_handle_get_serialize_size, na_class_t *, na_mem_handle_t *)
FUNCTION(na_return_t, NA_Mem_handle_serialize, na_class_t *, void *, size_t,
    na_mem_handle_t *)
FUNCTION(na_return_t, NA_Mem_handle_deserialize, na_class_t *,
    na_mem_handle_t **, const void *, size_t)
FUNCTION(na_return_t, NA_Put, na_class_t *, na_context_t *, na_cb_t, void *,
    na_mem_handle_t *, na_offset_t, na_mem_handle_t *, na_offset_t, size_t,
    na_addr_t *, uint8_t, na_op_id_t *)
FUNCTION(na_return_t, NA_Get, na_class_t *, na_context_t *, na_cb_t, void *,
    na_mem_handle_t *, na_offset_t, na_mem_handle_t *, na_offset_t, size_t,
    na_addr_t *, uint8_t, na_op_id_t *)
FUNCTION(int, NA_Poll_get_fd, na_class_t *, na_context_t *)
FUNCTION(bool, NA_Poll_try_wait, na_class_t *, na_context_t *)
FUNCTION(na_return_t, NA_Poll, na_class_t *, na_context_t *, unsigned int *)
FUNCTION(na_return_t, NA_Poll_wait, na_class_t *, na_context_t *, unsigned int,
    unsigned *)
FUNCTION(na_return_t, NA_Progress, na_class_t *, na_context_t *, unsigned int)
FUNCTION(na_return_t, NA_Trigger, na_context_t *, unsigned int, unsigned int *)
FUNCTION(na_return_t, NA_Cancel, na_class_t *, na_context_t *, na_op_id_t *)
FUNCTION(const char *, NA_Error_to_string, na_return_t)

/* na_sm.h */
FUNCTION(na_return_t, NA_SM_Host_id_get, na_sm_id_t *)
FUNCTION(na_return_t, NA_SM_Host_id_to_string, na_sm_id_t, char *)
FUNCTION(na_return_t, NA_SM_String_to_host_id, const char *, na_sm_id_t *)
FUNCTION(void, NA_SM_Host_id_copy, na_sm_id_t *, na_sm_id_t)
FUNCTION(bool, NA_SM_Host_id_cmp, na_sm_id_t, na_sm_id_t)

/* mercury.h */
FUNCTION(
    hg_return_t, HG_Version_get, unsigned int *, unsigned int *, unsigned int *)
FUNCTION(const char *, HG_Error_to_string, hg_return_t)
FUNCTION(hg_return_t, HG_Get_na_protocol_info, const char *,
    struct na_protocol_info **)
FUNCTION(void, HG_Free_na_protocol_info, struct na_protocol_info *)
FUNCTION(hg_class_t *, HG_Init, const char *, uint8_t)
FUNCTION(hg_class_t *, HG_Init_opt, const char *, uint8_t,
    const struct hg_init_info *)
FUNCTION(hg_class_t *, HG_Init_opt2, const char *, uint8_t, unsigned int,
    const struct hg_init_info *)
FUNCTION(hg_return_t, HG_Finalize, hg_class_t *)
FUNCTION(void, HG_Cleanup, void)
FUNCTION(void, HG_Set_log_level, const char *)
FUNCTION(void, HG_Set_log_subsys, const char *)
FUNCTION(void, HG_Set_log_func, int (*)(FILE *, const char *, ...))
FUNCTION(void, HG_Set_log_stream, const char *, FILE *)
FUNCTION(void, HG_Diag_dump_counters, void)
FUNCTION(const char *, HG_Class_get_name, const hg_class_t *)
FUNCTION(const char *, HG_Class_get_protocol, const hg_class_t *)
FUNCTION(bool, HG_Class_is_listening, const hg_class_t *)
FUNCTION(hg_size_t, HG_Class_get_input_eager_size, const hg_class_t *)
FUNCTION(hg_size_t, HG_Class_get_output_eager_size, const hg_class_t *)
FUNCTION(hg_return_t, HG_Class_set_input_offset, hg_class_t *, hg_size_t)
FUNCTION(hg_return_t, HG_Class_set_output_offset, hg_class_t *, hg_size_t)
FUNCTION(hg_return_t, HG_Class_set_data, hg_class_t *, void *, void (*)(void *))
FUNCTION(void *, HG_Class_get_data, const hg_class_t *)
FUNCTION(hg_return_t, HG_Class_get_counters, const hg_class_t *,
    struct hg_diag_counters *)
FUNCTION(hg_return_t, HG_Class_set_handle_create_callback, hg_class_t *,
    hg_return_t (*)(hg_handle_t, void *), void *)
FUNCTION(hg_context_t *, HG_Context_create, hg_class_t *)
FUNCTION(hg_context_t *, HG_Context_create_id, hg_class_t *, uint8_t)
FUNCTION(hg_return_t, HG_Context_destroy, hg_context_t *)
FUNCTION(hg_return_t, HG_Context_unpost, hg_context_t *)
FUNCTION(hg_class_t *, HG_Context_get_class, const hg_context_t *)
FUNCTION(uint8_t, HG_Context_get_id, const hg_context_t *)
FUNCTION(
    hg_return_t, HG_Context_set_data, hg_context_t *, void *, void (*)(void *))
FUNCTION(void *, HG_Context_get_data, const hg_context_t *)
FUNCTION(hg_id_t, HG_Register_name, hg_class_t *, const char *, hg_proc_cb_t,
    hg_proc_cb_t, hg_rpc_cb_t)
FUNCTION(hg_return_t, HG_Registered_name, hg_class_t *, const char *, hg_id_t *,
    uint8_t *)
FUNCTION(hg_return_t, HG_Register, hg_class_t *, hg_id_t, hg_proc_cb_t,
    hg_proc_cb_t, hg_rpc_cb_t)
FUNCTION(hg_return_t, HG_Deregister, hg_class_t *, hg_id_t)
FUNCTION(hg_return_t, HG_Registered, hg_class_t *, hg_id_t, uint8_t *)
FUNCTION(hg_return_t, HG_Registered_proc_cb, hg_class_t *, hg_id_t, uint8_t *,
    hg_proc_cb_t *, hg_proc_cb_t *)
FUNCTION(hg_return_t, HG_Register_data, hg_class_t *, hg_id_t, void *,
    void (*)(void *))
FUNCTION(void *, HG_Registered_data, hg_class_t *, hg_id_t)
FUNCTION(
    hg_return_t, HG_Registered_disable_response, hg_class_t *, hg_id_t, uint8_t)
FUNCTION(hg_return_t, HG_Registered_disabled_response, hg_class_t *, hg_id_t,
    uint8_t *)
FUNCTION(hg_return_t, HG_Addr_lookup1, hg_context_t *, hg_cb_t, void *,
    const char *, hg_op_id_t *)
FUNCTION(hg_return_t, HG_Addr_lookup2, hg_class_t *, const char *, hg_addr_t *)
FUNCTION(hg_return_t, HG_Addr_free, hg_class_t *, hg_addr_t)
FUNCTION(hg_return_t, HG_Addr_set_remove, hg_class_t *, hg_addr_t)
FUNCTION(hg_return_t, HG_Addr_self, hg_class_t *, hg_addr_t *)
FUNCTION(hg_return_t, HG_Addr_dup, hg_class_t *, hg_addr_t, hg_addr_t *)
FUNCTION(uint8_t, HG_Addr_cmp, hg_class_t *, hg_addr_t, hg_addr_t)
FUNCTION(hg_return_t, HG_Addr_to_string, hg_class_t *, char *, hg_size_t *,
    hg_addr_t)
FUNCTION(
    hg_return_t, HG_Create, hg_context_t *, hg_addr_t, hg_id_t, hg_handle_t *)
FUNCTION(hg_return_t, HG_Destroy, hg_handle_t)
FUNCTION(hg_return_t, HG_Reset, hg_handle_t, hg_addr_t, hg_id_t)
FUNCTION(hg_return_t, HG_Ref_incr, hg_handle_t)
FUNCTION(int32_t, HG_Ref_get, hg_handle_t)
FUNCTION(const struct hg_info *, HG_Get_info, hg_handle_t)
FUNCTION(hg_return_t, HG_Set_data, hg_handle_t, void *, void (*)(void *))
FUNCTION(void *, HG_Get_data, hg_handle_t)
FUNCTION(hg_size_t, HG_Get_input_payload_size, hg_handle_t)
FUNCTION(hg_return_t, HG_Get_input, hg_handle_t, void *)
FUNCTION(hg_return_t, HG_Free_input, hg_handle_t, void *)
FUNCTION(hg_size_t, HG_Get_output_payload_size, hg_handle_t)
FUNCTION(hg_return_t, HG_Get_output, hg_handle_t, void *)
FUNCTION(hg_return_t, HG_Free_output, hg_handle_t, void *)
FUNCTION(hg_return_t, HG_Get_input_buf, hg_handle_t, void **, hg_size_t *)
FUNCTION(hg_return_t, HG_Release_input_buf, hg_handle_t)
FUNCTION(hg_return_t, HG_Get_output_buf, hg_handle_t, void **, hg_size_t *)
FUNCTION(hg_return_t, HG_Get_input_extra_buf, hg_handle_t, void **, hg_size_t *)
FUNCTION(
    hg_return_t, HG_Get_output_extra_buf, hg_handle_t, void **, hg_size_t *)
FUNCTION(hg_return_t, HG_Set_target_id, hg_handle_t, uint8_t)
FUNCTION(hg_return_t, HG_Forward, hg_handle_t, hg_cb_t, void *, void *)
FUNCTION(hg_return_t, HG_Respond, hg_handle_t, hg_cb_t, void *, void *)
FUNCTION(hg_return_t, HG_Cancel, hg_handle_t)
FUNCTION(hg_return_t, HG_Progress, hg_context_t *, unsigned int)
FUNCTION(hg_return_t, HG_Trigger, hg_context_t *, unsigned int, unsigned int,
    unsigned int *)
FUNCTION(int, HG_Event_get_wait_fd, const hg_context_t *)
FUNCTION(bool, HG_Event_ready, hg_context_t *)
FUNCTION(hg_return_t, HG_Event_progress, hg_context_t *, unsigned int *)
FUNCTION(
    hg_return_t, HG_Event_trigger, hg_context_t *, unsigned int, unsigned int *)

/* mercury_bulk.h */
FUNCTION(hg_return_t, HG_Bulk_create, hg_class_t *, uint32_t, void **,
    const hg_size_t *, uint8_t, hg_bulk_t *)
FUNCTION(hg_return_t, HG_Bulk_create_attr, hg_class_t *, uint32_t, void **,
    const hg_size_t *, uint8_t, const struct hg_bulk_attr *, hg_bulk_t *)
FUNCTION(hg_return_t, HG_Bulk_free, hg_bulk_t)
FUNCTION(hg_return_t, HG_Bulk_ref_incr, hg_bulk_t)
FUNCTION(hg_return_t, HG_Bulk_bind, hg_bulk_t, hg_context_t *)
FUNCTION(hg_addr_t, HG_Bulk_get_addr, hg_bulk_t)
FUNCTION(uint8_t, HG_Bulk_get_context_id, hg_bulk_t)
FUNCTION(hg_return_t, HG_Bulk_access, hg_bulk_t, hg_size_t, hg_size_t, uint8_t,
    uint32_t, void **, hg_size_t *, uint32_t *)
FUNCTION(hg_size_t, HG_Bulk_get_size, hg_bulk_t)
FUNCTION(uint32_t, HG_Bulk_get_segment_count, hg_bulk_t)
FUNCTION(uint8_t, HG_Bulk_get_flags, hg_bulk_t)
FUNCTION(hg_size_t, HG_Bulk_get_serialize_size, hg_bulk_t, unsigned long)
FUNCTION(
    hg_return_t, HG_Bulk_serialize, void *, hg_size_t, unsigned long, hg_bulk_t)
FUNCTION(hg_return_t, HG_Bulk_deserialize, hg_class_t *, hg_bulk_t *,
    const void *, hg_size_t)
FUNCTION(hg_return_t, HG_Bulk_transfer, hg_context_t *, hg_cb_t, void *,
    hg_bulk_op_t, hg_addr_t, hg_bulk_t, hg_size_t, hg_bulk_t, hg_size_t,
    hg_size_t, hg_op_id_t *)
FUNCTION(hg_return_t, HG_Bulk_bind_transfer, hg_context_t *, hg_cb_t, void *,
    hg_bulk_op_t, hg_bulk_t, hg_size_t, hg_bulk_t, hg_size_t, hg_size_t,
    hg_op_id_t *)
FUNCTION(hg_return_t, HG_Bulk_transfer_id, hg_context_t *, hg_cb_t, void *,
    hg_bulk_op_t, hg_addr_t, uint8_t, hg_bulk_t, hg_size_t, hg_bulk_t,
    hg_size_t, hg_size_t, hg_op_id_t *)
FUNCTION(hg_return_t, HG_Bulk_cancel, hg_op_id_t)

/* mercury_proc.h */
FUNCTION(hg_return_t, hg_proc_create, hg_class_t *, hg_proc_hash_t, hg_proc_t *)
FUNCTION(hg_return_t, hg_proc_create_set, hg_class_t *, void *, hg_size_t,
    hg_proc_op_t, hg_proc_hash_t, hg_proc_t *)
FUNCTION(hg_return_t, hg_proc_free, hg_proc_t)
FUNCTION(hg_return_t, hg_proc_reset, hg_proc_t, void *, hg_size_t, hg_proc_op_t)
FUNCTION(hg_class_t *, hg_proc_get_class, hg_proc_t)
FUNCTION(void, hg_proc_set_handle, hg_proc_t, hg_handle_t)
FUNCTION(hg_handle_t, hg_proc_get_handle, hg_proc_t)
FUNCTION(hg_proc_op_t, hg_proc_get_op, hg_proc_t)
FUNCTION(void, hg_proc_set_flags, hg_proc_t, uint8_t)
FUNCTION(uint8_t, hg_proc_get_flags, hg_proc_t)
FUNCTION(hg_size_t, hg_proc_get_size, hg_proc_t)
FUNCTION(hg_size_t, hg_proc_get_size_used, hg_proc_t)
FUNCTION(hg_return_t, hg_proc_set_size, hg_proc_t, hg_size_t)
FUNCTION(hg_size_t, hg_proc_get_size_left, hg_proc_t)
FUNCTION(void *, hg_proc_save_ptr, hg_proc_t, hg_size_t)
FUNCTION(hg_return_t, hg_proc_restore_ptr, hg_proc_t, void *, hg_size_t)
FUNCTION(void *, hg_proc_get_extra_buf, hg_proc_t)
FUNCTION(hg_size_t, hg_proc_get_extra_size, hg_proc_t)
FUNCTION(hg_return_t, hg_proc_set_extra_buf_is_mine, hg_proc_t, uint8_t)
FUNCTION(hg_return_t, hg_proc_flush, hg_proc_t)
FUNCTION(hg_return_t, hg_proc_checksum_get, hg_proc_t, void *, hg_size_t)
FUNCTION(
    hg_return_t, hg_proc_checksum_verify, hg_proc_t, const void *, hg_size_t)
FUNCTION(hg_return_t, hg_proc_int8_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_uint8_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_int16_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_uint16_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_int32_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_uint32_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_int64_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_uint64_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_bytes, hg_proc_t, void *, hg_size_t)
FUNCTION(void, hg_proc_checksum_update, hg_proc_t, void *, hg_size_t)

/* mercury_proc_bulk.h */
FUNCTION(hg_return_t, hg_proc_hg_bulk_t, hg_proc_t, void *)

/* mercury_proc_string.h */
FUNCTION(hg_return_t, hg_proc_hg_string_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_hg_const_string_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_proc_hg_string_object_t, hg_proc_t, void *)
FUNCTION(hg_return_t, hg_string_object_init, hg_string_object_t *)
FUNCTION(hg_return_t, hg_string_object_init_char, hg_string_object_t *, char *,
    uint8_t)
FUNCTION(hg_return_t, hg_string_object_init_const_char, hg_string_object_t *,
    const char *, uint8_t)
FUNCTION(hg_return_t, hg_string_object_free, hg_string_object_t *)
FUNCTION(
    hg_return_t, hg_string_object_dup, hg_string_object_t, hg_string_object_t *)
FUNCTION(char *, hg_string_object_swap, hg_string_object_t *, char *)
