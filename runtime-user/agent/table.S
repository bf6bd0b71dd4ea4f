/* The image's head: see common/abi/agent_image.h, which states the order. */
  .section .kevt_table, "a", @progbits
  .globl kevt_image
kevt_image:
  .long 0x6b657641
  .long kevt_image_end - kevt_image
  .long kevt_tables_address - kevt_image
  .long kevt_faults_begin - kevt_image
  .long kevt_faults_end - kevt_image
  .long kevt_service_thread - kevt_image
  .long kevt_service_guarded - kevt_image
  .long kevt_service_enter - kevt_image
  .long kevt_service_leave - kevt_image
  .long kevt_service_reserve - kevt_image
  .long kevt_service_text_length - kevt_image
  .long kevt_service_text_copy - kevt_image
  .long kevt_service_text_fetch - kevt_image
  .long kevt_service_comm - kevt_image
  .long kevt_service_match - kevt_image
  .long kevt_service_inject - kevt_image
  .long kevt_service_time - kevt_image
  .long kevt_service_stack - kevt_image
  .long kevt_service_stack_sample - kevt_image
  .long kevt_on_signal - kevt_image
  .long kevt_on_masked - kevt_image
  .long kevt_restorer - kevt_image
  .long kevt_answer_call - kevt_image
  .long kevt_restore_returns - kevt_image
  .long kevt_libraries_changed - kevt_image
  .long kevt_call_each - kevt_image
  .balign 8
  .globl kevt_tables_address
  .hidden kevt_tables_address
kevt_tables_address:
  .quad 0

  .text
  .globl kevt_restorer
  .hidden kevt_restorer
/* The handler has returned; %rsp is at the ucontext. The siginfo behind it has no signal from here on, so that what is
   left of the frame is told from one whose handler still runs (runtime-user/runtime/inproc/process/signal_frames.cpp).
   Fewer than 16 bytes. */
kevt_restorer:
  andl $0, 304(%rsp)
  mov $15, %eax /* rt_sigreturn */
  syscall
  .section .note.GNU-stack, "", @progbits
